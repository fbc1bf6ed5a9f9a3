package history

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// headerField is the number of the field Header in each kind that has one. Without a header a message keeps the bytes that
// older releases read.
const headerField = lastField - 2

// A header is opaque to the code of an orchestration: it counts nothing in Size. It is kept encoded, so that it passes from
// message to message without being read.

// EncodeHeader returns the stored form of a header, nil for an empty one. Equal headers have equal bytes.
func EncodeHeader(h map[string]string) []byte {
	if len(h) == 0 {
		return nil
	}
	pairs := pairs{list: make([][]byte, 0, 2*len(h))}
	for _, key := range slices.Sorted(maps.Keys(h)) {
		pairs.list = append(pairs.list, []byte(key), []byte(h[key]))
	}
	return appendRecord(nil, &pairs)
}

// DecodeHeader reads what EncodeHeader wrote. It returns nil for no header, and for one that cannot be read: a header is
// never worth a failed turn.
func DecodeHeader(data []byte) map[string]string {
	if len(data) == 0 {
		return nil
	}
	var p pairs
	if err := decodeRecord(data, &p, 0); err != nil || len(p.list)%2 != 0 {
		return nil
	}
	h := make(map[string]string, len(p.list)/2)
	for pair := range slices.Chunk(p.list, 2) {
		h[string(pair[0])] = string(pair[1])
	}
	return h
}

// The keys of the engine itself, which no user can set. TraceKey, of the header of a start, is the context of the span that the
// execution's spans belong to: first that of its parent, then its own. AnchorKey, of a later message, is one that takes its place.
const (
	TraceKey  = "perdure.trace"
	AnchorKey = "perdure.anchor"
)

// HeaderValue returns the value of a key of a stored header, "" for none.
func HeaderValue(header []byte, key string) string {
	if !bytes.Contains(header, []byte(key)) { // the usual case costs no allocation
		return ""
	}
	return DecodeHeader(header)[key]
}

// WithHeaderValue returns a stored header with a key set.
func WithHeaderValue(header []byte, key, value string) []byte {
	h := DecodeHeader(header)
	if h == nil {
		h = make(map[string]string, 1)
	}
	h[key] = value
	return EncodeHeader(h)
}

// TraceIDs returns the IDs of trace and span that the context of a span names, for logs; "" for none.
func TraceIDs(context string) (trace, span string) {
	parent, _, _ := strings.Cut(context, " ")
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || len(parts[2]) != 16 {
		return "", ""
	}
	return parts[1], parts[2]
}

// pairs are the keys of a header, each followed by its value.
type pairs struct{ list [][]byte }

func (p *pairs) fields(c *codec) { c.list(1, &p.list) }

// Caller is what the task of an activity says of the execution that asked for it. It stands in the payload of the task and
// in no event, so that a history holds it once.
type Caller struct {
	Name        string // of the orchestration
	CodeVersion string
	Header      []byte
}

func (o *Caller) fields(c *codec) {
	c.text(1, &o.Name)
	c.text(2, &o.CodeVersion)
	c.payload(3, &o.Header)
}

// EncodeCaller returns the stored form of a caller.
func EncodeCaller(o Caller) []byte { return appendRecord(nil, &o) }

// DecodeCaller reads what EncodeCaller wrote. It returns an empty one for what cannot be read.
func DecodeCaller(data []byte) (o Caller) {
	if err := decodeRecord(data, &o, 0); err != nil {
		return Caller{}
	}
	return o
}

// AppendOrigin appends an encoded origin to the encoding of an ActivityScheduled without one. The result is the payload of
// its task.
func AppendOrigin(scheduled, origin []byte) []byte {
	c := codec{writing: true, out: scheduled}
	c.payload(headerField, &origin)
	return c.out
}
