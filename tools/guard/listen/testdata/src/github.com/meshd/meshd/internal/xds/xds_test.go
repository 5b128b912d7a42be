package xds

import "net"

var _, _ = net.Listen("tcp", ":0")
