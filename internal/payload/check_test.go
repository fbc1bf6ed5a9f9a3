package payload

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
)

type tree struct {
	Left, Right *tree
	ByName      map[string]tree
}

type textOnly struct{ n int }

func (t textOnly) MarshalText() ([]byte, error) { return []byte{byte(t.n)}, nil }

type readOnlyText struct{ N int }

func (t *readOnlyText) UnmarshalText(b []byte) error { t.N = len(b); return nil }

type level int

func (l level) MarshalText() ([]byte, error) { return []byte(strings.Repeat("x", int(l))), nil }

type name string

func (n name) MarshalText() ([]byte, error) { return []byte(n), nil }

type secret struct{ hidden int }

func (s secret) Hidden() int { return s.hidden }

type base struct{ ID string }

func TestCheckAccepts(t *testing.T) {
	types := []reflect.Type{
		reflect.TypeFor[order](), reflect.TypeFor[*order](), reflect.TypeFor[[]order](), reflect.TypeFor[none](), reflect.TypeFor[struct{}](),
		reflect.TypeFor[any](), reflect.TypeFor[[]any](), reflect.TypeFor[map[string]any](), reflect.TypeFor[tree](),
		reflect.TypeFor[time.Time](), reflect.TypeFor[time.Duration](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[[]byte](),
		reflect.TypeFor[netip.Addr](), reflect.TypeFor[map[netip.Addr]int](), reflect.TypeFor[map[int]string](), reflect.TypeFor[big.Int](),
		reflect.TypeFor[map[string]*big.Int](), reflect.TypeFor[map[string][]big.Int](), reflect.TypeFor[word](), reflect.TypeFor[name](),
		reflect.TypeFor[map[name]int](), reflect.TypeFor[int](), reflect.TypeFor[string](), reflect.TypeFor[**int](), reflect.TypeFor[[4]float64](),
		reflect.TypeFor[struct {
			F func() `json:"-"`
			f func()
			A int
		}](),
		reflect.TypeFor[struct {
			base
			secret // adds no field, and takes none away
		}](),
	}
	for _, typ := range types {
		if err := Check(typ); err != nil {
			t.Errorf("Check(%v): %v", typ, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	type line struct{ Callback func() }
	type basket struct{ Items []line }
	tests := []struct {
		typ  reflect.Type
		want string
	}{
		{nil, "no type"},
		{reflect.TypeFor[basket](), "basket.Items[].Callback: func"},
		{reflect.TypeFor[*basket](), ".Items[].Callback: func"},
		{reflect.TypeFor[func()](), "func"},
		{reflect.TypeFor[[]chan int](), "[]: chan"},
		{reflect.TypeFor[struct{ C complex64 }](), ".C: complex64"},
		{reflect.TypeFor[[2]complex128](), "complex128"},
		{reflect.TypeFor[unsafe.Pointer](), "unsafe.Pointer"},
		{reflect.TypeFor[struct{ Err error }](), ".Err: interface error"},
		{reflect.TypeFor[json.Unmarshaler](), "interface json.Unmarshaler"},
		{reflect.TypeFor[map[bool]int](), "[key]: map key bool"},
		{reflect.TypeFor[map[base]int](), "map key payload.base"},
		{reflect.TypeFor[map[level]int](), "map key payload.level"},
		{reflect.TypeFor[map[word]int](), "map key payload.word"},
		{reflect.TypeFor[map[string]big.Int](), "use *big.Int"},
		{reflect.TypeFor[map[string]struct{ P [1]big.Int }](), "[].P[]: big.Int in a map"},
		{reflect.TypeFor[secret](), "secret: struct payload.secret has no exported field"},
		{reflect.TypeFor[struct{ Mu sync.Mutex }](), ".Mu: struct sync.Mutex has no exported field"},
		{reflect.TypeFor[struct {
			secret
			S secret
		}](), ".S: struct payload.secret"},
		{reflect.TypeFor[struct{ base2 }](), "no exported field"},
		{reflect.TypeFor[textOnly](), "without UnmarshalText"},
		{reflect.TypeFor[level](), "without UnmarshalText"},
		{reflect.TypeFor[readOnlyText](), "without MarshalText"},
		{reflect.TypeFor[struct{ *base }](), "embedded pointer to unexported struct"},
		{reflect.StructOf([]reflect.StructField{ // go vet refuses this struct in the source
			{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
			{Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
		}), ".B: has the JSON name \"x\" of field A"},
		{reflect.TypeFor[struct {
			Next *struct{ Stop chan int }
		}](), ".Next.Stop: chan"},
	}
	for _, tt := range tests {
		if err := Check(tt.typ); !errors.Is(err, ErrType) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Check(%v) = %v; want %q in it", tt.typ, err, tt.want)
		}
	}
}

type base2 struct{ hidden secret }

func (b base2) use() int { return b.hidden.Hidden() }

// Values that Check refuses for their methods do get lost or fail on the way.
func TestCheckIsRight(t *testing.T) {
	for _, v := range []any{level(2), textOnly{2}, readOnlyText{2}, secret{2}, map[string]big.Int{"a": *big.NewInt(2)}, map[level]int{2: 2}, base2{secret{2}}} {
		data, err := Encode(v)
		if err != nil {
			continue
		}
		into := reflect.New(reflect.TypeOf(v))
		if err := Decode(data, into.Interface()); err == nil && reflect.DeepEqual(into.Elem().Interface(), v) {
			t.Errorf("%T came back by %s", v, data)
		}
	}
	_ = base2{}.use()
}
