package debug

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// pretty reports whether the client wants lines that people read (?pretty, as istiod has it).
func pretty(r *http.Request) bool { return r.URL.Query().Has("pretty") }

// encode writes a value, on one line unless it is to be pretty.
func encode(r *http.Request, v any) ([]byte, error) {
	if pretty(r) {
		return json.MarshalIndent(v, "", "  ")
	}
	return json.Marshal(v)
}

// encodeProto writes a message in the JSON form of protobuf, which protojson spaces at random.
func (p *Pages) encodeProto(r *http.Request, m proto.Message) ([]byte, error) {
	raw, err := protojson.MarshalOptions{Resolver: p.types}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if pretty(r) {
		err = json.Indent(&out, raw, "", "  ")
	} else {
		err = json.Compact(&out, raw)
	}
	return out.Bytes(), err
}

func asJSON(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/json") }

// write answers with one value.
func write(w http.ResponseWriter, r *http.Request, v any) {
	data, err := encode(r, v)
	respond(w, data, err)
}

func respond(w http.ResponseWriter, data []byte, err error) {
	if err != nil {
		http.Error(w, fmt.Sprintf("writing the page: %v", err), http.StatusInternalServerError)
		return
	}
	asJSON(w)
	_, _ = w.Write(append(data, '\n')) // the client is gone: nobody to tell
}

// line is an element of a list, or a field of an object if it has a name.
type line struct {
	name string
	data []byte
	err  error
}

// writeList answers with a list, an element a line, and holds one element at a time.
func writeList[T any](w http.ResponseWriter, r *http.Request, open, shut string, elements iter.Seq[T]) {
	writeLines(w, open, shut, func(yield func(line) bool) {
		for e := range elements {
			if data, err := encode(r, e); !yield(line{"", data, err}) {
				return
			}
		}
	})
}

// writeMap answers with an object, a field a line, and holds one field at a time.
func writeMap[T any](w http.ResponseWriter, r *http.Request, fields iter.Seq2[string, T]) {
	writeLines(w, "{", "}", func(yield func(line) bool) {
		for name, v := range fields {
			if data, err := encode(r, v); !yield(line{strconv.Quote(name) + ":", data, err}) {
				return
			}
		}
	})
}

func writeLines(w http.ResponseWriter, open, shut string, lines iter.Seq[line]) {
	asJSON(w)
	_, _ = io.WriteString(w, open)
	separator := "\n"
	for l := range lines {
		if l.err != nil {
			// Too late for a status: what does not parse is noticed.
			fmt.Fprintf(w, "\n!error writing the page: %v\n", l.err)
			return
		}
		if _, err := io.WriteString(w, separator+l.name); err != nil {
			return // the client is gone
		}
		_, _ = w.Write(l.data)
		separator = ",\n"
	}
	_, _ = io.WriteString(w, "\n"+shut+"\n")
}
