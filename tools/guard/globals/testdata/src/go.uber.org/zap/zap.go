// Package zap stands in for go.uber.org/zap.
package zap

type Logger struct{}

type Field struct{}

func L() *Logger      { return nil }
func NewNop() *Logger { return nil }
