package logging

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap/zapcore"
)

// Levels are the least levels that are logged: one for everything, and others for single components.
// The zero value is info for everything, as ParseLevels("") gives it.
type Levels struct {
	fallback zapcore.Level
	general  bool // fallback was given
	named    map[string]zapcore.Level
}

// silent is above every level there is: nothing is logged.
const silent = zapcore.InvalidLevel

// ParseLevels reads the value of --log-level: "info", or levels for components with or without one for the rest,
// "xds=debug,default=warn". A level is debug, info, warn, error, fatal or none. Istio's way of writing it is understood
// too: a colon for the equals sign, and "all" for "default". The error names the part that is wrong.
func ParseLevels(s string) (Levels, error) {
	levels := Levels{named: map[string]zapcore.Level{}}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, text := Default, part
		if i := strings.IndexAny(part, "=:"); i >= 0 {
			name, text = part[:i], part[i+1:]
		}
		level, err := parseLevel(text)
		if err != nil {
			return Levels{}, fmt.Errorf("log level %q: %w", part, err)
		}
		if name == "all" {
			name = Default
		}
		switch {
		case name == "":
			return Levels{}, fmt.Errorf("log level %q: want component=level", part)
		case seen[name]:
			return Levels{}, fmt.Errorf("log level %q: %s has two levels", part, name)
		case name == Default:
			levels.fallback, levels.general = level, true
		default:
			levels.named[name] = level
		}
		seen[name] = true
	}
	return levels, nil
}

// levels are the names that levels have.
func levels() map[string]zapcore.Level {
	return map[string]zapcore.Level{
		"debug": zapcore.DebugLevel, "info": zapcore.InfoLevel, "warn": zapcore.WarnLevel,
		"error": zapcore.ErrorLevel, "fatal": zapcore.FatalLevel, "none": silent,
	}
}

// LevelNames lists the names of levels, from the one that logs most.
func LevelNames() []string {
	byName := levels()
	names := slices.Collect(maps.Keys(byName))
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(byName[a], byName[b]) })
	return names
}

func parseLevel(s string) (zapcore.Level, error) {
	if level, ok := levels()[s]; ok {
		return level, nil
	}
	return 0, fmt.Errorf("unknown level %q: want one of %s", s, strings.Join(LevelNames(), ", "))
}

// Of gives the least level that a component logs. A part of a component ("xds.push") has its own level, or else that
// of the component it belongs to.
func (l Levels) Of(component string) zapcore.Level {
	for name := component; ; {
		if level, ok := l.named[name]; ok {
			return level
		}
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			break
		}
		name = name[:dot]
	}
	if component == GRPC {
		// gRPC's info lines tell of every connection. Who wants them names it.
		return max(l.fallback, zapcore.WarnLevel)
	}
	return l.fallback
}

// Named lists the components that were given a level of their own, sorted, so that the caller can refuse names that
// belong to nobody.
func (l Levels) Named() []string { return slices.Sorted(maps.Keys(l.named)) }

// lowest is the least level that anybody logs.
func (l Levels) lowest() zapcore.Level {
	low := l.fallback
	for _, level := range l.named {
		low = min(low, level)
	}
	return low
}
