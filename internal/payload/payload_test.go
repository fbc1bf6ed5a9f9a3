package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type none struct{}

type item struct {
	SKU string `json:"sku"`
	Qty int    `json:"qty"`
}

type order struct {
	ID       string            `json:"id"`
	Items    []item            `json:"items"`
	Notes    map[string]string `json:"notes,omitempty"`
	At       time.Time         `json:"at"`
	Price    big.Int           `json:"price"`
	Raw      json.RawMessage   `json:"raw,omitempty"`
	Parent   *order            `json:"parent,omitempty"`
	Anything any               `json:"anything,omitempty"`
}

// word has its methods on the pointer, which encoding/json misses for plain values.
type word int

func (w *word) MarshalText() ([]byte, error) {
	return []byte(strings.Repeat("x", int(*w))), nil
}

func (w *word) UnmarshalText(text []byte) error {
	*w = word(len(text))
	return nil
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("boom") }
func (*panicking) UnmarshalJSON([]byte) error  { panic("bang") }

type failing struct{ Name string }

func (*failing) UnmarshalJSON([]byte) error { return errors.New("no luck") }

func TestRoundTrip(t *testing.T) {
	full := order{
		ID: "o-1", Items: []item{{"a", 1}, {"b", 2}}, Notes: map[string]string{"k": "<&>"},
		At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Price: *big.NewInt(12345),
		Raw: json.RawMessage(`[1,2]`), Parent: &order{ID: "o-0"}, Anything: map[string]any{"x": 1.5},
	}
	values := []any{
		true, 42, -7, 1.5, "text",
		[]byte{0, 255},
		[3]int{1, 2, 3},
		[]string(nil),
		[]string{},
		map[int]bool{3: true},
		none{},
		struct{}{},
		new(none{}), full, &full, (*order)(nil), word(3), new(word(4)),
		[]word{1, 2},
		[2]word{3, 4},
		struct{ W word }{5},
		struct{ P *big.Int }{big.NewInt(9)},
		json.Number("17"), time.Second,
	}
	for _, v := range values {
		data, err := Encode(v)
		if err != nil {
			t.Errorf("Encode(%T): %v", v, err)
			continue
		}
		into := reflect.New(reflect.TypeOf(v))
		if err := Decode(data, into.Interface()); err != nil {
			t.Errorf("Decode(%s, %T): %v", data, v, err)
			continue
		}
		if got := into.Elem().Interface(); !reflect.DeepEqual(got, v) {
			t.Errorf("%T: %+v became %+v by %s", v, v, got, data)
		}
	}
}

func TestRoundTripProperty(t *testing.T) {
	values := rapid.Make[struct {
		Text  string
		Count int64
		Flags []bool
		Inner map[string]*item
		Bytes []byte
	}]()
	rapid.Check(t, func(t *rapid.T) {
		v := values.Draw(t, "v")
		data, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		again := reflect.New(reflect.TypeOf(v))
		if err := Decode(data, again.Interface()); err != nil {
			t.Fatal(err)
		}
		data2, err := Encode(again.Elem().Interface())
		if err != nil || !bytes.Equal(data, data2) {
			t.Fatalf("%s became %s, %v", data, data2, err)
		}
	})
}

func TestEmptyStructIsNoBytes(t *testing.T) {
	for _, v := range []any{none{}, struct{}{}} {
		if data, err := Encode(v); data != nil || err != nil {
			t.Errorf("Encode(%T) = %q, %v", v, data, err)
		}
	}
	if data, err := Encode(nil); string(data) != "null" || err != nil {
		t.Errorf("Encode(nil) = %q, %v", data, err)
	}
	if data, err := Encode(&none{}); string(data) != "{}" || err != nil {
		t.Errorf("Encode(&none) = %q, %v: it would read back as nil", data, err)
	}
}

func TestNoBytesAreTheZeroValue(t *testing.T) {
	o := order{ID: "before"}
	n, s, p, a := 7, []int{1}, &o, any("x")
	for _, into := range []any{&o, &n, &s, &p, &a, &none{}} {
		if err := Decode(nil, into); err != nil {
			t.Errorf("Decode(nil, %T): %v", into, err)
		}
		if v := reflect.ValueOf(into).Elem(); !v.IsZero() {
			t.Errorf("%T is %v", into, v)
		}
	}
}

// A value that is decoded into must not show its old content, or a cached execution would see other things than a
// replayed one.
func TestDecodeForgetsTheOldValue(t *testing.T) {
	o := order{ID: "before", Notes: map[string]string{"old": "1"}}
	if err := Decode([]byte(`{"notes":{"new":"2"}}`), &o); err != nil {
		t.Fatal(err)
	}
	if want := (order{Notes: map[string]string{"new": "2"}}); !reflect.DeepEqual(o, want) {
		t.Errorf("got %+v", o)
	}
	if err := Decode([]byte(`{"id":"x","items":[{"qty":"two"}]}`), &o); err == nil {
		t.Fatal("no error")
	}
	if !reflect.DeepEqual(o, order{}) {
		t.Errorf("after an error: %+v", o)
	}
}

func TestDecodeSharesNothing(t *testing.T) {
	data := []byte(`{"raw":[1,2]}`)
	var o order
	if err := Decode(data, &o); err != nil {
		t.Fatal(err)
	}
	clear(data)
	if string(o.Raw) != "[1,2]" {
		t.Errorf("raw changed to %q", o.Raw)
	}
}

func TestEncodeErrors(t *testing.T) {
	cycle := &order{}
	cycle.Parent = cycle
	tests := []struct {
		v    any
		want string
	}{
		{func() {}, "func()"},
		{order{Anything: make(chan int)}, "payload.order: json: unsupported type: chan int"},
		{math.NaN(), "NaN"},
		{panicking{}, "payload.panicking: a method panicked: boom"},
		{[]panicking{{}}, "boom"},
		{cycle, "cycle"},
	}
	for _, tt := range tests {
		data, err := Encode(tt.v)
		if data != nil || !errors.Is(err, ErrEncode) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Encode(%T) = %q, %v; want an error with %q", tt.v, data, err, tt.want)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	long := `{"id":"` + strings.Repeat("long ", 100) + `","items":[{"sku":"s","qty":"two"}],"notes":{}}` + strings.Repeat(" ", 100)
	tests := []struct {
		data string
		into any
		want []string
	}{
		{long, new(order), []string{"payload.order", "field items.qty", "at byte 5", `qty\":\"two`, "string", "int"}},
		{`"x"`, new(int), []string{"into int", `"\"x\""`}},
		{`{"id":`, new(order), []string{"unexpected end", "byte 6"}},
		{`{} {}`, new(order), []string{"after top-level value"}},
		{`300`, new(uint8), []string{"300", "uint8"}},
		{`{}`, new(panicking), []string{"payload.panicking", "panicked: bang"}},
		{`{"name":"n"}`, new(failing), []string{"payload.failing", "no luck", `{\"name`}},
		{`{}`, order{}, []string{"pointer"}},
		{`{}`, (*order)(nil), []string{"pointer"}},
		{`{}`, nil, []string{"pointer"}},
	}
	for _, tt := range tests {
		err := Decode([]byte(tt.data), tt.into)
		if !errors.Is(err, ErrDecode) {
			t.Errorf("Decode(%.20s, %T) = %v", tt.data, tt.into, err)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("Decode(%.20s, %T) = %v; want %q in it", tt.data, tt.into, err, want)
			}
		}
		if len(err.Error()) > 400 {
			t.Errorf("Decode(%.20s, %T): error of %d bytes", tt.data, tt.into, len(err.Error()))
		}
	}
}

// A user's UnmarshalJSON may report offsets of other data.
func TestSampleOfStrangeOffset(t *testing.T) {
	for _, offset := range []int64{-1 << 62, -1, 0, 1, 3, 1 << 40} {
		if got := sample([]byte("abc"), offset); got != `"abc"` {
			t.Errorf("sample at %d = %s", offset, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "null", "{}", `{"id":"x","items":[{"qty":"1"}]}`, `{"price":12,"at":"2026-01-02T03:04:05Z"}`, `[`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var o order
		err := Decode(data, &o)
		if err != nil {
			if !errors.Is(err, ErrDecode) || !reflect.DeepEqual(o, order{}) {
				t.Fatalf("%v left %+v", err, o)
			}
			return
		}
		if _, err := Encode(o); err != nil {
			t.Fatalf("%q was read, but cannot be written: %v", data, err)
		}
	})
}
