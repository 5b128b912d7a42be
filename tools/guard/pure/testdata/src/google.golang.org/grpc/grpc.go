// Package grpc stands in for the real one.
package grpc

type Server struct{}

type ClientConn struct{}

func NewServer() *Server                    { return nil }
func NewClient(string) (*ClientConn, error) { return nil, nil }
