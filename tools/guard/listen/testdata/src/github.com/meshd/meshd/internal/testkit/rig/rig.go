package rig

import "net/http/httptest"

var Start = httptest.NewServer
