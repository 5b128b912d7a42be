package fxtra
