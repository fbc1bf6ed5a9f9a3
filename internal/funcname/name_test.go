package funcname

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

type svc struct{ fee int } //nolint:recvcheck // methods of both kinds are tested

func (s *svc) Charge(n int) int { return n + s.fee }
func (s svc) Quote(n int) int   { return n + s.fee }

// Next begins with code of another function, which the compiler copies into it.
func (s *svc) Next(n int) int { return increased(n) }

func increased(n int) int { return n + 1 }

type charger interface{ Charge(n int) int }

type shop struct{ *svc }

type box[T any] struct{ content T }

func (b *box[T]) Put(n int) int {
	_ = b.content
	return n
}

type intBox struct{ box[int] }

type handler func(int) int

func (h handler) Do(n int) int { return h(n) }

func Checkout(n int) int   { return n }
func checkout(n int) int   { return n }
func func1(n int) int      { return n }
func Größe(n int) int      { return n } //nolint:asciicheck // such names are legal
func Map[T any](n int) int { return n }
func inlined() handler     { return func(n int) int { return n + 1 } }
func twice() func() handler {
	return func() handler { return func(n int) int { return n + 2 } }
}

//go:noinline
func kept() handler { return func(n int) int { return n + 3 } }

var global = func(n int) int { return n }

func (s *svc) handler() handler { return func(n int) int { return n + s.fee } }

func TestOf(t *testing.T) {
	s := &svc{}
	var asInterface charger = s
	tests := []struct {
		what string
		fn   any
		want string
	}{
		{"function", Checkout, "Checkout"},
		{"unexported function", checkout, "checkout"},
		{"function named like a closure", func1, "func1"},
		{"letters of other alphabets", Größe, "Größe"},
		{"function as a named type", handler(Checkout), "Checkout"},
		{"method value", s.Charge, "svc.Charge"},
		{"method value with copied code", s.Next, "svc.Next"},
		{"method value of another receiver", (&svc{1}).Charge, "svc.Charge"},
		{"method value, value receiver", svc{}.Quote, "svc.Quote"},
		{"method value, value receiver through pointer", s.Quote, "svc.Quote"},
		{"method expression", (*svc).Charge, "svc.Charge"},
		{"method expression, value receiver", svc.Quote, "svc.Quote"},
		{"method expression, pointer to value receiver", (*svc).Quote, "svc.Quote"},
		{"promoted method value", shop{s}.Charge, "svc.Charge"},
		{"promoted method expression", shop.Charge, "shop.Charge"},
		{"method value of an interface", asInterface.Charge, "charger.Charge"},
		{"method of a function type", handler(Checkout).Do, "handler.Do"},
		{"method of another package", new(strings.Builder).Len, "Builder.Len"},
		{"function of another package", strings.ToUpper, "ToUpper"},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			got, err := Of(tt.fn)
			if err != nil || got != tt.want {
				t.Errorf("Of = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestOfRefuses(t *testing.T) {
	type local struct{ svc }
	captured := len(t.Name())
	var anonymous interface{ Charge(n int) int } = &svc{}
	tests := []struct {
		what string
		fn   any
		want string // in the error
	}{
		{"nil", nil, "is nil"},
		{"nil function", (func())(nil), "nil func()"},
		{"number", 7, "int is not a function"},
		{"pointer to function", &global, "*func(int) int is not a function"},
		{"closure", func(n int) int { return n + captured }, "closure"},
		{"closure without variables", func(n int) int { return n }, "closure"},
		{"closure of an inlined function", inlined(), "closure"},
		{"closure of a function that is not inlined", kept(), "closure"},
		{"closure in a closure", twice()(), "closure"},
		{"closure of a method", (&svc{}).handler(), "closure"},
		{"closure in a variable of the package", global, "closure"},
		{"generic function", Map[int], "generic"},
		{"method value of a generic type", (&box[int]{}).Put, "generic"},
		{"method expression of a generic type", (*box[string]).Put, "generic"},
		{"promoted from a generic type", (&intBox{}).Put, "generic"},
		{"method expression of a local type", local.Quote, "neither"},
		{"method of an anonymous interface", anonymous.Charge, "no function of a package"},
		{"reflect.MakeFunc", reflect.MakeFunc(reflect.TypeFor[handler](), nil).Interface(), "package reflect"},
		{"method found by reflection", reflect.ValueOf(&svc{}).MethodByName("Charge").Interface(), "package reflect"},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			got, err := Of(tt.fn)
			if !errors.Is(err, ErrNoName) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Of = %q, %v; want an error with %q", got, err, tt.want)
			}
			if reflect.ValueOf(tt.fn).Kind() == reflect.Func && tt.want != "nil func()" && !strings.Contains(err.Error(), "Define(") {
				t.Errorf("the error does not say how to fix it: %v", err)
			}
		})
	}
}

// These are names from several compilers. One build shows only some of them.
func TestParse(t *testing.T) {
	tests := map[string]string{
		"main.Checkout":                              "Checkout",
		"command-line-arguments.Checkout":            "Checkout",
		"gopkg.in/yaml%2ev3.Unmarshal":               "Unmarshal",
		"example.com/a.b/shop.(*Svc).Charge-fm":      "Svc.Charge",
		"example.com/shop.Svc.Charge-fm":             "Svc.Charge",
		"main.func1":                                 "func1",
		"main.mk.func1":                              "",
		"main.main.mk.func2":                         "",
		"main.mk.func1.2":                            "",
		"main.(*Svc).Run.func1":                      "",
		"main.glob..func1":                           "",
		"main.init.func1":                            "",
		"main.run.gowrap1":                           "",
		"main.run.deferwrap2":                        "",
		"main.run-range1":                            "",
		"main.Svc.func1":                             "", // looks like a closure
		"main.Gen[...]":                              "",
		"main.(*Box[...]).Put-fm":                    "",
		"main.local·1.Val":                           "",
		"go:interface { Charge(int) int }.Charge-fm": "",
		"go:interface { Do(example.com/x.T) }.Do-fm": "",
		"Checkout":                                   "",
		"":                                           "",
	}
	for symbol, want := range tests {
		got, err := parse(symbol)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("parse(%q) = %q, %v; want %q", symbol, got, err, want)
		}
	}
}

func TestPointer(t *testing.T) {
	if Pointer(Checkout) != Pointer(handler(Checkout)) {
		t.Error("one function, two pointers")
	}
	if Pointer(Checkout) == Pointer(checkout) {
		t.Error("two functions, one pointer")
	}
	if p := Pointer(7); p != 0 {
		t.Errorf("Pointer(7) = %x", p)
	}
	if p := Pointer(nil); p != 0 {
		t.Errorf("Pointer(nil) = %x", p)
	}
}

// A method and its method values have one symbol. A promoted method has none of its own type.
func TestDeclared(t *testing.T) {
	s := &svc{}
	for name, c := range map[string]struct {
		of   any
		name string
		fn   any // a method value; nil: not declared
	}{
		"of a pointer":               {s, "Charge", s.Charge},
		"of a value":                 {svc{}, "Quote", svc{}.Quote},
		"of a value, by a pointer":   {s, "Quote", s.Quote},
		"with copied code":           {s, "Next", s.Next},
		"of a function type":         {handler(nil), "Do", handler(Checkout).Do},
		"promoted from a pointer":    {shop{s}, "Charge", nil},
		"promoted, by a pointer":     {&shop{s}, "Quote", nil},
		"promoted from a value":      {&intBox{}, "Put", nil},
		"of a pointer, by the value": {svc{}, "Charge", nil},
		"unknown":                    {s, "Refund", nil},
	} {
		symbol, ok := Declared(reflect.TypeOf(c.of), c.name)
		if ok != (c.fn != nil) || ok && symbol != Symbol(Pointer(c.fn)) {
			t.Errorf("%s: %q, %v", name, symbol, ok)
		}
	}
}

func BenchmarkOf(b *testing.B) {
	method := (&svc{}).Charge
	for name, fn := range map[string]any{"function": Checkout, "method": method} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Of(fn); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
