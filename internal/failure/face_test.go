package failure

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// goldenPanic is a failure as a node stores it.
const goldenPanic = `activity charge panicked: no card
goroutine 34 [running]:
runtime/debug.Stack()
	/usr/lib/go/src/runtime/debug/stack.go:26 +0x5e
github.com/perdure/perdure/dispatcher/internal/task.(*Worker).Panicked(0xc0001, 0xc0002, {0xc0003, 0x4})
	/src/perdure/dispatcher/internal/task/settle.go:272 +0x3a
panic({0x9b1c40?, 0xbe3d50?})
	/usr/lib/go/src/runtime/panic.go:792 +0x132
shop/pay.(*Desk).charge(0xc000012345, {0x1, 0x2})
	/src/shop/pay/desk.go:42 +0x1d
github.com/perdure/perdure/internal/bind.call(...)
	/src/perdure/internal/bind/call.go:9
created by github.com/perdure/perdure/dispatcher in goroutine 1
	/src/perdure/dispatcher/dispatcher.go:9 +0x1`

// A key of a group is stored for ever and compared between machines: it is the same everywhere, and begins with the version of its rule.
func TestHazard159_KeyOfAGroupIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, activity string
		failure        history.Failure
		key            string
	}{
		{"plain", "charge", history.Failure{Message: "card declined"}, "1-c307dea1235b7ee34fb3"},
		{"no activity", "", history.Failure{Message: "card declined"}, "1-9e65a871f20626d6c0ac"},
		{"typed", "charge", history.Failure{Type: "shop.Declined", Message: "card declined"}, "1-8850cbdf98c1a7ffd663"},
		{"wrapped", "charge", history.Failure{
			Message: "paying: card declined", Causes: []history.Failure{{Type: "shop.Declined", Message: "card declined"}},
		}, "1-7e485d48d26c72a0d2a3"},
		{"coded", "charge", history.Failure{Code: "timeout", Message: "timed out"}, "1-ee7daf3cf66e97d8b930"},
		{"panic", "charge", history.Failure{Code: "panic", Message: goldenPanic}, "1-f57f01e2716412c713d8"},
	} {
		if _, key := FaceOf(&c.failure, "order", c.activity); key != c.key {
			t.Errorf("%s: the key is %s, want %s: a rule with other keys needs another version", c.name, key, c.key)
		}
	}
}

// What is of the user tells panics apart: the function that panicked and its line, and neither goroutines, addresses and paths nor perdure's
// own frames.
func TestHazard159_PanicsAreGroupedByTheFrameOfTheUser(t *testing.T) {
	t.Parallel()
	stack := func(replace ...string) *history.Failure {
		return &history.Failure{Code: "panic", Message: strings.NewReplacer(replace...).Replace(goldenPanic)}
	}
	face, key := FaceOf(stack(), "order", "charge")
	if want := (Face{
		Text: "activity charge panicked: no card", Activity: "charge", Code: "panic", Frame: "shop/pay.(*Desk).charge:42",
	}); face != want {
		t.Errorf("the face is %+v, want %+v", face, want)
	}
	for of, same := range map[*history.Failure]bool{
		stack("goroutine 34", "goroutine 7", "0xc000012345", "0xc000999999", "/src/shop", `C:/agent/shop`): true,
		stack("settle.go:272", "settle.go:280", "bind/call.go:9", "bind/call.go:11"):                       true,
		stack("desk.go:42", "desk.go:43"):  false,
		stack("(*Desk).charge", "refund"):  false,
		stack("no card", "no such client"): false,
	} {
		if _, other := FaceOf(of, "order", "charge"); (other == key) != same {
			t.Errorf("the same group: %v, want %v, of\n%s", other == key, same, of.Message)
		}
	}
	for name, own := range map[string]bool{
		"github.com/perdure/perdure/dispatcher/internal/task.(*Worker).run": true, "github.com/perdure/perdure.run": true,
		"github.com/perdure/perdure-shop.run": false, "github.com/perdure/perdure/client_test.run": false, "runtime.gopanic": true, "runtimes.run": false,
		"github.com/perdure/perdure/examples/ports/stock.pay": false, "main.run": false,
	} {
		if isEngine(name) != own {
			t.Errorf("isEngine(%q) is %v", name, !own)
		}
	}
}

// Only what differs each time is left out of a key, so that an act on a group meets no other error.
func TestHazard160_ShortNumbersTellErrorsApart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"status 404":     "status 404",
		"code 12345":     "code 12345",
		"order 123456":   "order <n>",
		"ORT1234567-x":   "ORT<n>-x",
		"id deadbeef":    "id <hex>",
		"id dead1beef-7": "id <hex>-7",
		"a feedback":     "a feedback",
		"defaced":        "defaced",
		"deadbeefs":      "deadbeefs",
		"0xc00012ab34":   "0x<hex>",
		"at 550e8400-e29b-41d4-a716-446655440000, gone": "at <uuid>, gone",
		"user_550E8400-E29B-41D4-A716-446655440000":     "user_<uuid>",
		"on 2026-11-29":                                      "on <time>",
		"at 2026-11-29T19:16:31.123456789Z: x":               "at <time>: x",
		"at 2026-11-29 19:16:31.5 +0200 CEST m=+0.001207: x": "at <time> CEST <time>: x",
		"2026/11/29 19:16:31 failed":                         "<time> failed",
		"at 19:16:31+02:00":                                  "at <time>",
		"took 1.52s of 5s":                                   "took 1.52s of 5s",
		"10.0.0.12:5432 refused":                             "10.0.0.12:5432 refused",
		"größe 123456789":                                    "größe <n>",
		"":                                                   "",
	} {
		if got := alike(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	key := func(text string) string {
		_, key := FaceOf(&history.Failure{Message: text}, "order", "charge")
		return key
	}
	if key("GET /orders: 404") == key("GET /orders: 503") {
		t.Error("404 and 503 are one group")
	}
	if key("order 1000001 is gone") != key("order 1000002 is gone") {
		t.Error("two numbers of orders make two groups")
	}
}

// The time for a key grows with the length of the text, not with its square: texts come from users and from services that fail.
func TestHazard160_HostileTextsAreReadOnce(t *testing.T) {
	t.Parallel()
	const size = 512 << 10 // the square would take minutes
	id := "550e8400-e29b-41d4-a716-446655440000"
	for _, part := range []string{"a1", "1a", "a1b2c3d4e5", "11111a", "aaaaaaaag", "12:", "12:12:12.1x", "m=+", "m=+1.", "2024-01-02T", id[:35], id[:8] + "-", "1", "a"} {
		for _, begin := range []string{"", id, "x", "-"} {
			began := time.Now()
			alike(begin + strings.Repeat(part, size/len(part)))
			if took := time.Since(began); took > 10*time.Second {
				t.Fatalf("%q and many %q took %v", begin, part, took)
			}
		}
	}
	for text, want := range map[string]string{
		id + "a1a1a1": "<uuid>a1a1a1", id + "a123456b": "<uuid>a<n>b", id + "1234567": "<uuid>1234567", id + "a1234567890": "<uuid>a<n>",
	} {
		if got := alike(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// An excerpt fits into each store, whatever an error says, and is read as it was written.
func TestHazard158_ExcerptFitsWhateverTheErrorSays(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü\x01\xff\"", 5000)
	for _, f := range []history.Failure{
		{},
		{Message: "short"},
		{Message: long},
		{Message: long, Type: long, Code: long},
		{Message: strings.Repeat("<\x00", 300), Type: strings.Repeat("\x01", 300)},
		{Message: "activity x panicked\ngoroutine " + long, Code: "panic"},
		{Message: strings.Repeat("a", 256)},
		{Message: strings.Repeat("a", 255) + "ü"},
	} {
		face, _ := FaceOf(&f, "order", long)
		data := face.Encode()
		if len(data) > excerptBytes || len(data)+256+128 > provider.MaxExcerpt || !json.Valid(data) {
			t.Errorf("the excerpt of %.20q has %d bytes", f.Message, len(data))
		}
		got, err := DecodeFace(data)
		if err != nil || !strings.HasPrefix(face.Text, got.Text) || !utf8.ValidString(got.Text) || len(got.Text) > excerptText {
			t.Errorf("%.20q was read as %+v, %v", f.Message, got, err)
		}
		if cut := len(got.Text) < len(valid(f.Message)); cut != got.Cut && !strings.HasPrefix(f.Message, "activity") {
			t.Errorf("%.20q: cut is %v with %d bytes", f.Message, got.Cut, len(got.Text))
		}
	}
	for _, data := range []string{"", "x", "{}", `{"v":0,"text":"a"}`} {
		if _, err := DecodeFace([]byte(data)); err == nil {
			t.Errorf("%q is an excerpt", data)
		}
	}
	if f, err := DecodeFace([]byte(`{"v":2,"text":"a","later":[1]}`)); err != nil || f.Text != "a" {
		t.Errorf("what a later release writes: %+v, %v", f, err)
	}
	sealed := history.EncodeSealed(history.Kept{Key: "k", Bytes: []byte("secret")})
	if _, err := DecodeFace(sealed); !errors.Is(err, history.ErrSealed) {
		t.Errorf("a sealed excerpt: %v", err)
	}
}

func FuzzFace(f *testing.F) {
	for _, text := range []string{goldenPanic, "a", "\ngoroutine \n\t(:", "id 550e8400-e29b-41d4-a716-446655440000 12:34:56"} {
		f.Add(text, "panic")
	}
	f.Fuzz(func(t *testing.T, text, code string) {
		failure := history.Failure{Message: text, Code: code}
		face, key := FaceOf(&failure, "order", "charge")
		if _, again := FaceOf(&failure, "order", "charge"); again != key || !strings.HasPrefix(key, fmt.Sprint(groupRule, "-")) {
			t.Errorf("keys %s and %s", key, again)
		}
		if _, err := DecodeFace(face.Encode()); err != nil {
			t.Error(err)
		}
	})
}
