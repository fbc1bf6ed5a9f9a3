package history

import (
	"errors"
	"reflect"
	"testing"
)

// FuzzDecodeEvent checks that decoding never panics and returns one of the two errors. A decoded event must survive
// encoding and decoding.
func FuzzDecodeEvent(f *testing.F) {
	for _, e := range append(edges, samples...) {
		f.Add(Encode(nil, e))
	}
	for _, data := range [][]byte{nil, {1}, {2, 1}, {1, 255}, {1, 5, 0xff}} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Decode(1, data)
		if err != nil {
			requireKnown(t, err)
			return
		}
		again, err := Decode(1, Encode(nil, e))
		if err != nil || !reflect.DeepEqual(normal(again), normal(e)) {
			t.Fatalf("%+v became %+v, %v", e.Body, again.Body, err)
		}
	})
}

// FuzzDecodeOutcome does the same for outcomes and failures.
func FuzzDecodeOutcome(f *testing.F) {
	for _, o := range []Outcome{{}, {Output: []byte("1")}, {Failure: &Failure{}}, {Output: []byte("2"), Failure: &sampleFailure}} {
		f.Add(EncodeOutcome(o))
	}
	f.Add(EncodeFailure(sampleFailure))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o, err := DecodeOutcome(data); err != nil {
			requireKnown(t, err)
		} else if again, err := DecodeOutcome(EncodeOutcome(o)); err != nil || !reflect.DeepEqual(again, normal(o)) {
			t.Fatalf("%+v became %+v, %v", o, again, err)
		}
		if failure, err := DecodeFailure(data); err != nil {
			requireKnown(t, err)
		} else if again, err := DecodeFailure(EncodeFailure(failure)); err != nil || !reflect.DeepEqual(again, normal(failure)) {
			t.Fatalf("%+v became %+v, %v", failure, again, err)
		}
	})
}

func requireKnown(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, ErrCorrupt) == errors.Is(err, ErrNewer) {
		t.Fatalf("neither corrupt nor newer, or both: %v", err)
	}
}

// normal makes the empty byte slices of v nil: a length of zero is legal, though Encode
// never writes one.
func normal[T any](v T) T {
	normalise(reflect.ValueOf(&v).Elem())
	return v
}

func normalise(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			normalise(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			normalise(field)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]byte]() {
			if v.Len() == 0 && v.CanSet() {
				v.SetZero()
			}
			return
		}
		for i := range v.Len() {
			normalise(v.Index(i))
		}
	default:
	}
}
