// Package fsnotify stands in for the real one.
package fsnotify

type Watcher struct{}

func NewWatcher() (*Watcher, error) { return nil, nil }
