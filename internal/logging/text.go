package logging

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.uber.org/zap/zapcore"
)

// textCore writes lines for people. It is a core and not an encoder so that fields keep the order in which they were given.
type textCore struct {
	out     zapcore.WriteSyncer
	context []zapcore.Field
}

func (c *textCore) Enabled(zapcore.Level) bool { return true }

func (c *textCore) With(fields []zapcore.Field) zapcore.Core {
	return &textCore{c.out, slices.Concat(c.context, fields)}
}

func (c *textCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return checked.AddCore(entry, c)
}

func (c *textCore) Sync() error { return c.out.Sync() }

// Write makes one line, and below it the stack, if there is one. It is one call of the writer.
func (c *textCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	component := entry.LoggerName
	if component == "" {
		component = "-"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %-5s %-12s %s", entry.Time.UTC().Format(timeLayout), entry.Level, component, oneLine(entry.Message))
	stack, prefix := entry.Stack, ""
	for _, f := range slices.Concat(c.context, fields) {
		switch {
		case f.Type == zapcore.NamespaceType:
			prefix += f.Key + "."
		case f.Type == zapcore.StringType && f.Key == "stack":
			stack = f.String
		default:
			writeField(&b, prefix, f)
		}
	}
	b.WriteByte('\n')
	if stack != "" {
		b.WriteString("    " + strings.ReplaceAll(strings.TrimSpace(stack), "\n", "\n    ") + "\n")
	}
	if _, err := c.out.Write([]byte(b.String())); err != nil {
		return err
	}
	if entry.Level > zapcore.ErrorLevel {
		// The process is about to end, and the line says why.
		return c.Sync()
	}
	return nil
}

func writeField(b *strings.Builder, prefix string, f zapcore.Field) {
	values := zapcore.NewMapObjectEncoder()
	f.AddTo(values)
	for _, key := range slices.Sorted(maps.Keys(values.Fields)) {
		if key == f.Key+"Verbose" && f.Type == zapcore.ErrorType {
			continue // the same error with its stack
		}
		b.WriteString(" " + prefix + key + "=" + text(values.Fields[key]))
	}
}

// text renders a value, in quotes where it could not be told from what follows.
func text(value any) string {
	switch v := value.(type) {
	case string:
		return quote(v)
	case []byte:
		return quote(string(v))
	case time.Time:
		return v.UTC().Format(timeLayout)
	case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, uintptr, float32, float64, complex64, complex128:
		return fmt.Sprint(v)
	case fmt.Stringer:
		return quote(v.String())
	}
	data, err := json.Marshal(value)
	if err != nil {
		return quote(fmt.Sprint(value))
	}
	return string(data)
}

func quote(s string) string {
	plain := func(r rune) bool { return r != '"' && r != '=' && r != ' ' && unicode.IsPrint(r) }
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return strconv.Quote(s)
}

// oneLine escapes what would break a line or speak to a terminal: messages quote what clients sent.
func oneLine(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
