//go:build race

package xds

const raceEnabled = true
