// Package elsewhere is of another module.
package elsewhere

import "net"

var L, _ = net.Listen("tcp", ":0")
