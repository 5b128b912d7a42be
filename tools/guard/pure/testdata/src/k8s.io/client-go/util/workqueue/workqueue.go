// Package workqueue stands in for the real one.
package workqueue

func NewTypedRateLimitingQueue[T comparable](limiter any) any      { return nil }
func NewTypedDelayingQueueWithConfig[T comparable](config any) any { return nil }
func DefaultTypedControllerRateLimiter[T comparable]() any         { return nil }
