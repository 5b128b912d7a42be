// Package logging builds the process's logger, and brings the lines of the libraries that log by themselves into it.
//
// A component of meshd logs through a logger named after it (log.Named("xds")), and its name decides its level. There
// is no logger at package level: the one that New makes is handed down.
package logging

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Format is how a line looks.
type Format string

// The formats of --log-format.
const (
	// Text is for people: time, level, component, message, then key=value.
	Text Format = "text"
	// JSON is for machines: one object a line, with the fields time, level, component and message.
	JSON Format = "json"
)

// timeLayout has milliseconds: a start takes a few hundred of them. Times are in UTC.
const timeLayout = "2006-01-02T15:04:05.000Z"

// ParseFormat reads the value of --log-format. The error says which values there are.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Text, JSON:
		return f, nil
	}
	return "", fmt.Errorf("unknown log format %q: want %s or %s", s, Text, JSON)
}

// New makes a logger that writes to w, which has to be safe for concurrent use (see zapcore.Lock). What the control says
// of levels holds at once for all loggers made from it.
func New(w zapcore.WriteSyncer, format Format, control *Control) *zap.Logger {
	var core zapcore.Core
	if format == JSON {
		core = zapcore.NewCore(zapcore.NewJSONEncoder(jsonConfig()), w, zapcore.DebugLevel)
	} else {
		core = &textCore{out: w}
	}
	return zap.New(leveled{Core: core, control: control}, zap.ErrorOutput(w))
}

func jsonConfig() zapcore.EncoderConfig {
	return zapcore.EncoderConfig{
		TimeKey: "time", LevelKey: "level", NameKey: "component", MessageKey: "message", StacktraceKey: "stack",
		EncodeTime:     func(t time.Time, enc zapcore.PrimitiveArrayEncoder) { enc.AppendString(t.UTC().Format(timeLayout)) },
		EncodeLevel:    zapcore.LowercaseLevelEncoder,
		EncodeDuration: zapcore.StringDurationEncoder,
		EncodeName:     zapcore.FullNameEncoder,
	}
}

// leveled lets through what a component's level lets through, and sees to it that a line has one component: the field
// "component", which lines about a component carry (steps, probes), goes before the name of the logger.
type leveled struct {
	zapcore.Core
	control   *Control
	component string
}

// Enabled answers for the component if that is known. Libraries ask before they format a line.
func (c leveled) Enabled(level zapcore.Level) bool {
	if c.component != "" {
		return level >= c.control.Levels().Of(c.component)
	}
	return level >= c.control.Levels().lowest()
}

func (c leveled) With(fields []zapcore.Field) zapcore.Core {
	component, rest := takeComponent(fields)
	return leveled{c.Core.With(rest), c.control, cmp.Or(component, c.component)}
}

func (c leveled) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if entry.Level < c.control.Levels().Of(cmp.Or(c.component, entry.LoggerName)) {
		return checked
	}
	return checked.AddCore(entry, c)
}

func (c leveled) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	component, rest := takeComponent(fields)
	entry.LoggerName = cmp.Or(component, c.component, entry.LoggerName)
	return c.Core.Write(entry, rest)
}

// takeComponent splits the field "component" off.
func takeComponent(fields []zapcore.Field) (component string, rest []zapcore.Field) {
	is := func(f zapcore.Field) bool { return f.Key == "component" && f.Type == zapcore.StringType }
	i := slices.IndexFunc(fields, is)
	if i < 0 {
		return "", fields
	}
	return fields[i].String, slices.Concat(fields[:i], fields[i+1:])
}
