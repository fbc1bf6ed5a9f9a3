package payload

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"
)

type loose struct {
	ID    int64
	Any   any
	Text  string
	Rest  map[string]any
	Items []loose
	Raw   json.RawMessage `json:",omitempty"`
	When  time.Time
}

// What Decode would refuse or return changed is refused, with its place.
func TestEncodeExactRefuses(t *testing.T) {
	t.Parallel()
	deep := json.RawMessage(strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990))
	for range 20 {
		deep = json.RawMessage("[" + string(deep) + "]")
	}
	var top *tree
	for range MaxDepth + 1 {
		top = &tree{Left: top}
	}
	for name, c := range map[string]struct {
		v    any
		says string
	}{
		"an integer in an any":        {loose{Any: int64(1<<53 + 1)}, "Any is 9007199254740993"},
		"one in a map in a list":      {loose{Items: []loose{{}, {Rest: map[string]any{"n": uint64(math.MaxUint64)}}}}, "Items[1].Rest[n] is 18446744073709551615"},
		"a json.Number in an any":     {map[string]any{"n": json.Number("12345678901234567891")}, "[n] is 12345678901234567891"},
		"a number beyond all floats":  {map[string]any{"n": []any{json.Number("1e400")}}, "[n][0] is 1e400"},
		"one with a sign":             {map[string]any{"n": json.Number("-2.5E+309")}, "[n] is -2.5E+309"},
		"raw numbers in an any":       {loose{Any: json.RawMessage(`{"a":[1,12345678901234567891]}`)}, "Any is 12345678901234567891"},
		"a big integer in an any":     {loose{Any: new(big.Int).Lsh(big.NewInt(3), 60).Add(big.NewInt(1), new(big.Int).Lsh(big.NewInt(3), 60))}, "Any is 3458764513820540929"},
		"text":                        {loose{Items: []loose{{Text: "caf\xe9"}}}, `Items[0].Text is text that is not UTF-8: "caf\xe9"`},
		"a plain text":                {"\xff", "the value is text that is not UTF-8"},
		"a key":                       {map[string]int{"a\xff": 1}, "a key of the value"},
		"raw JSON that is not UTF-8":  {json.RawMessage("\"\xff\""), "at byte 1"},
		"half of a pair in raw JSON":  {json.RawMessage(`{"a":"\ud83d!"}`), "at byte 6"},
		"the other half in raw JSON":  {json.RawMessage(`{"a":"\uDE00"}`), "at byte 6"},
		"a list too deep":             {top, "more than 10000 deep"},
		"raw JSON too deep by itself": {deep, "max depth"},
		"raw JSON too deep in a list": {[]any{[]any{json.RawMessage(strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999))}}, "more than 10000 deep"},
	} {
		if _, err := EncodeExact(c.v); !errors.Is(err, ErrEncode) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %.200v, want an error that says %q", name, err, c.says)
		}
	}
}

// What it takes comes back as it was, and costs one look more.
func TestEncodeExactAccepts(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"an integer in its own type": loose{ID: math.MaxInt64},
		"a round one in an any":      loose{Any: int64(1 << 60)},
		"a float":                    loose{Any: 1e300},
		"long digits in a text":      loose{Text: "4111111111111111", Rest: map[string]any{"card": "41111111111111112"}},
		"raw numbers":                loose{Raw: json.RawMessage("12345678901234567891")},
		"exponents":                  loose{Any: json.Number("1e308"), Text: "2e500", Rest: map[string]any{"id": "7e999"}},
		"raw numbers of their field": loose{Raw: json.RawMessage(`1e400`)},
		"short raw numbers":          loose{Any: json.RawMessage(`{"n":42,"s":"12345678901234567891"}`)},
		"U+FFFD":                     loose{Text: "\ufffd", Raw: json.RawMessage(`"\ufffd"`)},
		"a text that shows escapes":  loose{Text: `\ufffd \ud83d`},
		"a pair":                     json.RawMessage(`"\ud83d\ude00 \\ud83d"`),
		"a depth that can be read":   json.RawMessage(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)),
		"brackets in a text":         strings.Repeat("[", 2*MaxDepth),
		"bytes":                      []byte("\xff\xfe"),
		"a time":                     loose{When: time.Unix(1, 0)},
		"nothing":                    none{},
		"nil":                        nil,
	} {
		if _, err := EncodeExact(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// IDs do not make values be looked through.
func TestLongExponentsAreNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`1e400`: true, `[-2.5E+309]`: true, `{"n":1e4000}`: true, `{"n": 12.5e300}`: true,
		`"7e123456-e29b-41d4-a716-446655447e12"`: false, `"12e4567"`: false, `{"id":"0-0e123"}`: false,
		`[1e30,1e-400]`: false, `{"e100":1}`: false, `1e+30`: false,
	} {
		if got := longExponent([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func BenchmarkEncodeExact(b *testing.B) {
	large := make([]order, 8) // 1 KB
	for i := range large {
		large[i] = sampleOrder()
	}
	for name, encode := range map[string]func(any) ([]byte, error){"plain": Encode, "exact": EncodeExact} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := encode(large); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
