// Package trace stands in for the real one.
package trace

func NewBatchSpanProcessor(any) any { return nil }
func NewTracerProvider() any        { return nil }
