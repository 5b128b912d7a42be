package xds

import "sync"

var testMu sync.Mutex

func init() {}
