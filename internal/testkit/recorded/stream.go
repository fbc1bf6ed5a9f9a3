package recorded

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/perdure/perdure/provider"
)

// Stream is what one node did with its turns.
type Stream struct {
	Source    json.RawMessage     `json:"source"`    // which code the node had; the test that records it knows
	Level     int64               `json:"level"`     // engine level that the store allowed
	Histories map[string][][]byte `json:"histories"` // events by key and execution; see historyOf
	Turns     []*Turn             `json:"turns"`
}

// Turn is a turn and the calls that the node made for it.
type Turn struct {
	Now     provider.Time           `json:"now"` // of the storage when the turn began
	Token   provider.UUID           `json:"token"`
	Fetched *provider.Turn          `json:"fetched,omitempty"`
	First   *provider.CreateRequest `json:"first,omitempty"` // of an instance that begins with its first turn
	// Stored is what the node may read besides the history; nil: nothing.
	Stored *provider.GetResult `json:"stored,omitempty"`
	Calls  []Call              `json:"calls"`
}

// Call is a call of the provider with its result.
type Call struct {
	Name    string          `json:"name"` // of the method
	Request json.RawMessage `json:"request"`
	Result  json.RawMessage `json:"result,omitempty"`
	Refusal string          `json:"refusal,omitempty"` // a key of refusals; "": none
}

// refusals are the errors that a recorded call may return.
//
//nolint:gochecknoglobals // constant table
var refusals = map[string]error{
	"conflict": provider.ErrConflict, "inbox not empty": provider.ErrInboxNotEmpty, "lease lost": provider.ErrLeaseLost, "ended": provider.ErrEnded,
	"too large": provider.ErrTooLarge, "invalid": provider.ErrInvalid, "exists": provider.ErrExists,
}

// refusalOf returns the key of an error. It reports whether the error is a refusal, or nil.
func refusalOf(err error) (string, bool) {
	if err == nil {
		return "", true
	}
	for name, is := range refusals {
		if errors.Is(err, is) {
			return name, true
		}
	}
	return "", false
}

// historyOf returns the key of an execution in Stream.Histories.
func historyOf(key provider.UUID, execution int64) string {
	return fmt.Sprintf("%v/%d", key, execution)
}

// encode returns v as JSON. All that is recorded can be encoded.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// decode reads JSON that encode has written. A field that T does not have is an error.
func decode[T any](data json.RawMessage) (v T, err error) {
	err = strictly(data, &v)
	return v, err
}

// strictly decodes JSON. A field that v does not have is an error.
func strictly(data json.RawMessage, v any) error {
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(v); err != nil {
		return fmt.Errorf("decoding %T: %w", v, err)
	}
	return nil
}

// Write writes streams to a file.
func Write(path string, streams []*Stream) error {
	var data bytes.Buffer
	packed, err := gzip.NewWriterLevel(&data, gzip.BestCompression)
	for _, s := range streams {
		if err == nil {
			_, err = packed.Write(append(encode(s), '\n'))
		}
	}
	if err == nil {
		err = packed.Close()
	}
	if err == nil {
		err = os.WriteFile(path, data.Bytes(), 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing streams: %w", err)
	}
	return nil
}

// Read reads the streams of a file.
func Read(path string) (streams []*Stream, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading streams: %w", err)
	}
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading streams: %w", err)
	}
	for in := json.NewDecoder(packed); ; {
		var line json.RawMessage
		if err := in.Decode(&line); errors.Is(err, io.EOF) {
			return streams, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading stream %d: %w", len(streams), err)
		}
		s, err := decode[*Stream](line)
		if err != nil {
			return nil, fmt.Errorf("reading stream %d: %w", len(streams), err)
		}
		streams = append(streams, s)
	}
}
