package history

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// earlier returns an event with what releases before level 8 wrote.
func earlier(e Event) Event {
	if b, ok := e.Body.(*ExecutionStarted); ok {
		e.Body = &ExecutionStarted{
			Name: b.Name, CodeVersion: b.CodeVersion, Input: b.Input, Settings: b.Settings, Parent: b.Parent, Continued: b.Continued,
			Seen: b.Seen, RequestID: b.RequestID, Delay: b.Delay,
		}
	}
	if b, ok := e.Body.(*ChildStarted); ok {
		e.Body = &ChildStarted{Name: b.Name, CodeVersion: b.CodeVersion, ID: b.ID, Key: b.Key, Explicit: b.Explicit, Input: b.Input}
	}
	return bare(e)
}

// bare returns an event without its header and what came with headers.
func bare(e Event) Event {
	switch b := e.Body.(type) {
	case *ExecutionStarted:
		c := *b
		c.Root, c.Began, c.Header = Root{}, 0, nil
		e.Body = &c
	case *EventReceived:
		c := *b
		c.Header = nil
		e.Body = &c
	case *UpdateReceived:
		c := *b
		c.Header = nil
		e.Body = &c
	case *CancelRequested:
		c := *b
		c.Header = nil
		e.Body = &c
	case *ActivityScheduled:
		c := *b
		c.Caller = nil
		e.Body = &c
	case *ChildStarted:
		c := *b
		c.Header = nil
		e.Body = &c
	}
	return e
}

// A message without a header keeps the bytes that nodes of earlier releases read.
func TestHazard62_MessagesWithoutHeaderKeepTheirBytes(t *testing.T) {
	compared := 0
	for _, e := range samples {
		kind := e.Body.Kind()
		if reflect.DeepEqual(bare(e), e) {
			continue
		}
		text, err := os.ReadFile("testdata/earlier/" + kind.String() + ".7.hex")
		if errors.Is(err, fs.ErrNotExist) {
			continue // the kind is no older than headers
		} else if err != nil {
			t.Fatal(err)
		}
		compared++
		stored, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := Encode(nil, earlier(e)); !bytes.Equal(got, stored) {
			t.Errorf("%v is encoded as\n%sinstead of\n%s", kind, toHex(got), text)
		}
	}
	if compared != 5 {
		t.Errorf("%d kinds were compared", compared)
	}
}

// Equal events with and without headers have equal sizes. So no header can change what a limit refuses.
func TestHazard63_HeadersCountNothing(t *testing.T) {
	for _, e := range samples {
		if with, without := Size(e.Body), Size(bare(e).Body); with != without {
			t.Errorf("%v counts for %d with a header and for %d without", e.Body.Kind(), with, without)
		}
	}
	drawn := events()
	rapid.Check(t, func(t *rapid.T) {
		e := drawn.Draw(t, "event")
		if with, without := Size(e.Body), Size(bare(e).Body); with != without {
			t.Fatalf("%v counts for %d with a header and for %d without", e.Body.Kind(), with, without)
		}
	})
}

// Every kind with a header is one that these tests know.
func TestBareKnowsAllHeaders(t *testing.T) {
	for kind, entry := range kinds {
		body := reflect.ValueOf(entry.make()).Elem()
		for _, name := range []string{"Header", "Caller"} {
			field := body.FieldByName(name)
			if !field.IsValid() {
				continue
			}
			field.SetBytes([]byte("x"))
			e := Event{Body: body.Addr().Interface().(Body)}
			if reflect.DeepEqual(bare(e), e) {
				t.Errorf("bare leaves %s of %v", name, kind)
			}
		}
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOfN(rapid.String(), rapid.String(), 1, 20).Draw(t, "header")
		stored := EncodeHeader(want)
		if got := DecodeHeader(stored); !maps.Equal(got, want) {
			t.Fatalf("%v became %v", want, got)
		}
		if again := EncodeHeader(maps.Clone(want)); !bytes.Equal(again, stored) {
			t.Fatalf("%x and %x for one header", stored, again)
		}
		o := Caller{Name: rapid.String().Draw(t, "name"), CodeVersion: rapid.String().Draw(t, "version"), Header: stored}
		if got := DecodeCaller(EncodeCaller(o)); !reflect.DeepEqual(got, o) {
			t.Fatalf("%+v became %+v", o, got)
		}
	})
}

// Bytes that cannot be read are no header. They must not fail a turn or an attempt.
func TestBadHeaderIsNone(t *testing.T) {
	if EncodeHeader(nil) != nil || DecodeHeader(nil) != nil {
		t.Error("no header is something")
	}
	odd := appendRecord(nil, &pairs{list: [][]byte{[]byte("key")}})
	for _, bad := range [][]byte{{0xff}, []byte("text"), odd} {
		if got := DecodeHeader(bad); got != nil {
			t.Errorf("%x is %v", bad, got)
		}
	}
	if got := DecodeCaller([]byte{0xff}); !reflect.DeepEqual(got, Caller{}) {
		t.Errorf("a bad origin is %+v", got)
	}
}

// The payload of a task is the encoding of its event with the origin behind it. The event's own bytes stay as they are,
// though both may share memory.
func TestAppendOrigin(t *testing.T) {
	call := &ActivityScheduled{Name: "Charge", Queue: "q", Input: []byte("7")}
	event := Encode(make([]byte, 0, 128), Event{Body: call})
	before := bytes.Clone(event)
	origin := EncodeCaller(Caller{Name: "Checkout", Header: sampleHeader})
	e, err := Decode(3, AppendOrigin(event, origin))
	if err != nil || !bytes.Equal(event, before) {
		t.Fatalf("%v, event %x", err, event)
	}
	want := *call
	want.Caller = origin
	if !reflect.DeepEqual(e.Body, Body(&want)) {
		t.Errorf("the task is %+v", e.Body)
	}
	if got := AppendOrigin(event, nil); !bytes.Equal(got, before) {
		t.Errorf("no origin changes the payload to %x", got)
	}
}
