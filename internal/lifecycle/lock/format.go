package lock

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const header = `# The start-up graph as it was last reviewed, one fact a line, sorted.
# Written by "meshd graph lock", never by hand; "meshd graph verify --lock" fails where the code says otherwise.
#
#   step STEP TAG VALUE                  what the step's tags say, and which constructor gives it
#   order BEFORE AFTER REASON VIA...     steps of one phase, and over what the later one reaches the earlier one
#   needs|reads|peeks|gates|contributes CONSUMER PROVIDER TYPE
#
# A fact is true in every variant, unless "@" says in which: those with all the flags of one of the alternatives.
`

// Write writes the lock as text, the same bytes for the same facts.
func Write(w io.Writer, l *Lock) error {
	var b bytes.Buffer
	b.WriteString(header + "\n")
	for _, v := range l.Variants {
		b.WriteString("variant " + v + "\n")
	}
	b.WriteString("\n")
	for _, e := range l.Entries {
		b.WriteString(e.String() + suffix(condition(e.Variants, l.Variants)) + "\n")
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the lock: %w", err)
	}
	return nil
}

func suffix(condition string) string {
	if condition == "" {
		return ""
	}
	return " @ " + condition
}

// Parse reads a lock. The error names the line.
func Parse(r io.Reader) (*Lock, error) {
	l := &Lock{}
	said := map[string]int{} // by fact and variant, the line
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if name, ok := strings.CutPrefix(line, "variant "); ok {
			if len(l.Entries) > 0 {
				return nil, fmt.Errorf("line %d of the lock: a variant after the first fact", n)
			}
			l.Variants = append(l.Variants, name)
			continue
		}
		e, err := parseEntry(line, l.Variants)
		if err != nil {
			return nil, fmt.Errorf("line %d of the lock: %w", n, err)
		}
		for _, v := range e.Variants {
			key := e.id() + " @ " + v
			if other := said[key]; other > 0 {
				return nil, fmt.Errorf("line %d of the lock says the same as line %d, or the opposite", n, other)
			}
			said[key] = n
		}
		l.Entries = append(l.Entries, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the lock: %w", err)
	}
	slices.Sort(l.Variants)
	if err := checkVariants(l.Variants); err != nil {
		return nil, fmt.Errorf("reading the lock: %w", err)
	}
	l.sort()
	return l, nil
}

func parseEntry(line string, variants []string) (Entry, error) {
	words, condition, err := split(line)
	if err != nil {
		return Entry{}, err
	}
	n, ok := keyLength(words[0], words[1:])
	if !ok {
		return Entry{}, fmt.Errorf("unknown kind of fact %q", words[0])
	}
	if len(words) < n+1 {
		return Entry{}, fmt.Errorf("%s needs %d words after it", words[0], n)
	}
	e := Entry{Fact: Fact{Kind: words[0], Key: words[1 : n+1]}}
	if len(words) > n+1 {
		e.Value = words[n+1:]
	}
	e.Variants, err = variantsOf(condition, slices.Sorted(slices.Values(variants)))
	return e, err
}

// split breaks a line into words, some of them quoted, up to the "@" that begins the condition.
func split(line string) (words []string, condition string, err error) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " \t") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "@":
			if condition = strings.TrimSpace(rest); condition == "" {
				return nil, "", fmt.Errorf("nothing stands after @")
			}
			line = ""
		case line[0] == '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, "", fmt.Errorf("a quote is not closed: %w", err)
			}
			if word, err = strconv.Unquote(quoted); err != nil {
				return nil, "", fmt.Errorf("word %s: %w", quoted, err)
			}
			words, line = append(words, word), line[len(quoted):]
		default:
			words, line = append(words, word), rest
		}
	}
	if len(words) == 0 {
		return nil, "", fmt.Errorf("there is no fact on it")
	}
	return words, condition, nil
}

// quote writes a word, in quotes if it would be taken for something else.
func quote(s string) string {
	plain := s != "" && s != "@" && s[0] != '"' && s[0] != '#' && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	if plain {
		return s
	}
	return strconv.Quote(s)
}
