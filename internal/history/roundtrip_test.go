package history

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// fill sets the fields of v to drawn values, by their types. A new field is thus tested without a change here. A
// field of a new type fails until it is named.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = rapid.String().Draw(t, "string")
	case *int64:
		*p = rapid.Int64().Draw(t, "int64")
	case *bool:
		*p = rapid.Bool().Draw(t, "bool")
	case *[16]byte:
		copy(p[:], rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "uuid"))
	case *[]byte:
		if *p = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"); len(*p) == 0 {
			*p = nil // empty is decoded as nil
		}
	case *[][]byte:
		if *p = rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "list"); len(*p) == 0 {
			*p = nil
		}
	case *[]Failure:
		if depth < 4 {
			for range rapid.IntRange(0, 3).Draw(t, "causes") {
				var f Failure
				fill(t, reflect.ValueOf(&f).Elem(), depth+1)
				*p = append(*p, f)
			}
		}
	case *[]Attempt:
		for range rapid.IntRange(0, 3).Draw(t, "attempts") {
			var a Attempt
			fill(t, reflect.ValueOf(&a).Elem(), depth)
			*p = append(*p, a)
		}
	case *[]Attribute:
		for range rapid.IntRange(0, 3).Draw(t, "attributes") {
			var a Attribute
			fill(t, reflect.ValueOf(&a).Elem(), depth)
			*p = append(*p, a)
		}
	case *[]FirstEvent:
		for range rapid.IntRange(0, 3).Draw(t, "events") {
			var e FirstEvent
			fill(t, reflect.ValueOf(&e).Elem(), depth)
			*p = append(*p, e)
		}
	default:
		fillComposite(t, v, depth)
	}
}

func fillComposite(t *rapid.T, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "present") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field, depth)
		}
	default:
		panic(fmt.Sprintf("fill does not know %v", v.Type()))
	}
}

func events() *rapid.Generator[Event] {
	all := slices.Sorted(maps.Keys(kinds))
	return rapid.Custom(func(t *rapid.T) Event {
		e := Event{
			ID:   rapid.Int64Min(1).Draw(t, "id"),
			At:   rapid.Int64().Draw(t, "at"),
			Body: kinds[rapid.SampledFrom(all).Draw(t, "kind")].make(),
		}
		fill(t, reflect.ValueOf(e.Body).Elem(), 0)
		return e
	})
}

func TestRoundTrip(t *testing.T) {
	drawn := events()
	rapid.Check(t, func(t *rapid.T) {
		want := drawn.Draw(t, "event")
		prefix := []byte("before")
		data := Encode(prefix, want)
		if !bytes.HasPrefix(data, prefix) {
			t.Fatal("Encode does not append")
		}
		got, err := Decode(want.ID, data[len(prefix):])
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got.Body, want.Body)
		}
	})
}

func TestRoundTripOfEdges(t *testing.T) {
	for _, want := range edges {
		got, err := Decode(0, Encode(nil, want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got.Body, err, want.Body)
		}
	}
}

func TestRoundTripOfQuestions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Question
		fill(t, reflect.ValueOf(&q).Elem(), 0)
		if got, err := DecodeQuestion(EncodeQuestion(q)); err != nil || !reflect.DeepEqual(got, q) {
			t.Fatalf("got %+v, %v; want %+v", got, err, q)
		}
		var a Answer
		fill(t, reflect.ValueOf(&a).Elem(), 0)
		if got, err := DecodeAnswer(EncodeAnswer(a)); err != nil || !reflect.DeepEqual(got, a) {
			t.Fatalf("got %+v, %v; want %+v", got, err, a)
		}
	})
}

func TestRoundTripOfOutcome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want Outcome
		fill(t, reflect.ValueOf(&want).Elem(), 0)
		got, err := DecodeOutcome(EncodeOutcome(want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
		if want.Failure == nil {
			return
		}
		f, err := DecodeFailure(EncodeFailure(*want.Failure))
		if err != nil || !reflect.DeepEqual(f, *want.Failure) {
			t.Fatalf("got %+v, %v; want %+v", f, err, *want.Failure)
		}
	})
}

// Zero values are left out: an empty event costs its two bytes of header.
func TestZeroIsSmall(t *testing.T) {
	for kind, entry := range kinds {
		if data := Encode(nil, Event{Body: entry.make()}); len(data) != 2 {
			t.Errorf("an empty %v has %d bytes", kind, len(data))
		}
	}
}
