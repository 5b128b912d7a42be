package fxevent
