package xds

import (
	"errors"
	"hash/maphash"
	"unicode/utf8"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// namesField is resource_names of a DiscoveryRequest.
const namesField protowire.Number = 3

const (
	// manyNames is how many names are worth a look whether they are the same.
	manyNames = 16
	// maxTypes bounds the types whose names are known again; clients have a dozen.
	maxTypes = 32
)

// incoming reads the requests of one stream of the state-of-the-world protocol. A client repeats all names that it wants
// in each of them, and each answer to a response is one: thousands of names that mostly say nothing new.
type incoming struct {
	request *discoveryv3.DiscoveryRequest
	// same says that the names are those of the request of that type before; they are left out.
	same bool

	seed maphash.Seed
	last map[string]uint64 // what names hash to, by type URL
}

func newIncoming() *incoming { return &incoming{seed: maphash.MakeSeed(), last: map[string]uint64{}} }

// read takes in a serialised request and keeps nothing of it. All names share one string: who keeps one of them for long
// copies it.
func (in *incoming) read(b []byte) error {
	var runs nameRuns
	var rest []byte
	for len(b) > 0 {
		if n := runs.take(b); n > 0 {
			b = b[n:]
			continue
		}
		_, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		rest, b = append(rest, b[:n]...), b[n:]
	}
	in.request = &discoveryv3.DiscoveryRequest{}
	if err := proto.Unmarshal(rest, in.request); err != nil {
		return err
	}
	if len(in.request.GetResourceNames()) > 0 {
		return errors.New("a resource name has a tag that is longer than it need be")
	}
	url, sum := in.request.GetTypeUrl(), runs.hash(in.seed)
	last, known := in.last[url]
	if in.same = known && last == sum && runs.count >= manyNames; in.same {
		return nil
	}
	if len(in.last) >= maxTypes {
		clear(in.last)
	}
	in.last[url] = sum
	var err error
	in.request.ResourceNames, err = runs.names()
	return err
}

// nameRuns are the names of a request as they came: runs of fields, of which there is one as all clients write them.
type nameRuns struct {
	runs  [][]byte
	count int
}

// nameTag begins a name.
const nameTag = byte(namesField)<<3 | byte(protowire.BytesType)

// take takes the names that a message begins with, and says how many bytes they are; 0 if it begins with something else.
func (r *nameRuns) take(b []byte) int {
	at := 0
	for at < len(b) && b[at] == nameTag {
		_, n := protowire.ConsumeBytes(b[at+1:])
		if n < 0 {
			break
		}
		at += 1 + n
		r.count++
	}
	if at > 0 {
		r.runs = append(r.runs, b[:at])
	}
	return at
}

// hash is that of the names. Their lengths are in it, so that no two lists of names are the same bytes.
func (r *nameRuns) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, run := range r.runs {
		h.Write(run)
	}
	return h.Sum64()
}

// names gives the names themselves.
func (r *nameRuns) names() ([]string, error) {
	out := make([]string, 0, r.count)
	for _, run := range r.runs {
		text := string(run)
		for at := 0; at < len(text); {
			name, n := protowire.ConsumeBytes(run[at+1:])
			end := at + 1 + n
			if !utf8.Valid(name) {
				return nil, errors.New("a resource name is not UTF-8")
			}
			out = append(out, text[end-len(name):end])
			at = end
		}
	}
	return out, nil
}
