package serverless

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// Limits of expressions. Whatever is over one fails the turn. They are part of the version of the interpreter: with others, an instance
// could take another way on its replay.
const (
	maxExpression = 8 << 10   // bytes of the source of an expression
	maxValue      = 1 << 20   // bytes of a value that an expression gets, makes or returns
	maxDepth      = 256       // nested arrays and objects in such a value
	maxBits       = 1024      // of an integer, as no JSON number of perdure has more
	maxIndex      = 1 << 20   // of an element that an expression names
	maxUnits      = 2_000_000 // of work between two waits of an instance
	taskUnits     = 100       // of work that each task counts for
)

// LimitError is the value of the panic that fails a turn whose document does too much between two waits. It is no error that a document
// can catch: a slower or older node must not take another way. The instance shows as Blocked.
type LimitError struct {
	Path string // of the expression or task in the document
	Text string // which limit, and how to mend the document
}

func (e *LimitError) Error() string { return "serverless: " + e.Path + ": " + e.Text }

func overf(format string, args ...any) {
	panic(&LimitError{Text: fmt.Sprintf(format, args...)})
}

// budget counts the work of one document since it waited last. It counts what expressions do and no time, so that all nodes stop at the
// same place. As the context of expressions it is asked once for each instruction.
type budget struct {
	left    int
	longest int // bytes of the longest text in sight: an instruction may copy it
	changes []change
}

// renew gives the document the work of another stretch, after a wait.
func (b *budget) renew() { b.left, b.longest = maxUnits, 0 }

func (b *budget) charge(units int) {
	if b.left -= units; b.left < 0 || units < 0 {
		overf("over %d units of work between two waits: do less at a time, or move the work to an activity", maxUnits)
	}
}

// Deadline implements context.Context.
func (b *budget) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done implements context.Context. The interpreter of jq calls it before each instruction.
func (b *budget) Done() <-chan struct{} {
	b.charge(1 + b.longest>>10)
	return nil
}

// Err implements context.Context.
func (b *budget) Err() error { return nil }

// Value implements context.Context.
func (b *budget) Value(any) any { return nil }

// measure counts the bytes of a value as a tree: what is shared counts as often as it is seen, as builtins copy and compare it as often.
// It stops at the first byte over the limit.
func (b *budget) measure(v any) int {
	bytes := 0
	b.walk(v, 0, &bytes)
	b.charge(1 + bytes>>4)
	return bytes
}

func (b *budget) walk(v any, depth int, bytes *int) {
	*bytes += 8
	if depth > maxDepth {
		overf("a value is nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case string:
		*bytes += len(v)
		b.longest = max(b.longest, len(v))
	case *big.Int:
		if v.BitLen() > maxBits {
			overf("an integer has more than %d bits", maxBits)
		}
	case []any:
		for _, e := range v {
			if b.walk(e, depth+1, bytes); *bytes > maxValue {
				break
			}
		}
	case map[string]any:
		for k, e := range v {
			*bytes += len(k)
			if b.walk(e, depth+1, bytes); *bytes > maxValue {
				break
			}
		}
	}
	if *bytes > maxValue {
		overf("a value has more than %d bytes: leave out what is not needed", maxValue)
	}
}

// operands measures what an operator or builtin works on, which the first argument names, and charges what that may cost.
func (b *budget) operands(_ any, args []any) any {
	of, _ := args[0].(string)
	values := args[1:]
	sizes := make([]int, len(values))
	for i, v := range values {
		sizes[i] = b.measure(v)
	}
	switch of {
	case "*":
		b.repeat(values[0], values[1])
		b.repeat(values[1], values[0])
	case "-", "contains", "inside", "index", "rindex", "indices":
		b.charge(sizes[0] * sizes[1] >> 8)
	case "join":
		list, _ := values[0].([]any)
		if len(list)*sizes[1] > maxValue {
			overf("join: the result has more than %d bytes", maxValue)
		}
		b.longest = max(b.longest, sizes[0]+len(list)*sizes[1])
	case "test", "match", "capture":
		b.charge(sizes[0] * sizes[1] >> 8)
	case "scan", "splits", "split", "sub", "gsub":
		b.charge(sizes[0] * sizes[1] >> 8)
		b.charge(sizes[0] * sizes[0] >> 12)
	case "setpath":
		if err, ok := b.path(values[1], nil).(error); ok {
			return err
		}
		b.deep(values[0], values[1])
	case "delpaths":
		paths, _ := values[1].([]any)
		b.deep(values[0], paths...)
	case "strptime":
		if format, ok := values[1].(string); ok && zoned(format) {
			return errors.New("strptime: %Z and %+ use the time zone of the node: use %z")
		}
	case "transpose":
		b.transpose(values[0])
	case "tonumber":
		b.charge(sizes[0] * sizes[0] >> 6)
	}
	return values
}

// zoned reports whether a format of strptime names a time zone. Between % and its letter may stand flags and a width.
func zoned(format string) bool {
	for {
		_, after, found := strings.Cut(format, "%")
		if !found {
			return false
		}
		after = strings.TrimLeft(after, "-_0123456789^#:EO")
		if after == "" {
			return false
		}
		if after[0] == 'Z' || after[0] == '+' {
			return true
		}
		format = after[1:]
	}
}

// repeat refuses a text that is repeated until it is too long.
func (b *budget) repeat(text, times any) {
	s, ok := text.(string)
	n, number := gojq.ToFloat64(times)
	if !ok || !number || n <= 0 {
		return
	}
	if float64(len(s))*n > maxValue {
		overf("*: the text has more than %d bytes", maxValue)
	}
	b.longest = max(b.longest, int(float64(len(s))*n))
}

// transpose charges for the rectangle that holds all rows.
func (b *budget) transpose(v any) {
	rows, _ := v.([]any)
	longest := 0
	for _, row := range rows {
		if row, ok := row.([]any); ok {
			longest = max(longest, len(row))
		}
	}
	b.charge(len(rows) * longest)
}

// input measures the value that a builtin works on.
func (b *budget) input(v any, _ []any) any {
	b.measure(v)
	return v
}

// text is input for builtins that make a text of their input. The argument names the builtin.
func (b *budget) text(v any, args []any) any {
	bytes := b.measure(v)
	if list, ok := v.([]any); ok && args[0] == "add" {
		bytes = 0
		for _, e := range list {
			if s, ok := e.(string); ok {
				bytes += len(s)
			}
		}
	}
	b.longest = max(b.longest, bytes)
	return v
}

// each charges for an iteration over a value, whose elements the interpreter copies, and whose keys it sorts. Its result is nothing.
func (b *budget) each(v any, _ []any) any {
	switch v := v.(type) {
	case []any:
		b.charge(1 + len(v)>>2)
	case map[string]any:
		b.charge(1 + len(v))
	}
	return nil
}

// index refuses elements so far off that an assignment to them would fill the memory, lists, which are searched for in one step, and
// objects, which are slices in disguise.
func (b *budget) index(v any, _ []any) any {
	switch v.(type) {
	case []any:
		return errors.New("an array is no index: use indices")
	case map[string]any:
		return errors.New("an object is no index: write a slice as .[a:b]")
	}
	n, ok := gojq.ToInt(v)
	if ok && n > maxIndex {
		overf("the element %d is named: the limit is %d", n, maxIndex)
	}
	b.charge(1 + max(n, 0)>>3)
	return v
}

// path is index for each element of a path.
func (b *budget) path(v any, _ []any) any {
	b.measure(v)
	list, _ := v.([]any)
	for _, e := range list {
		if _, slice := e.(map[string]any); slice {
			continue // along charges for it
		}
		if err, ok := b.index(e, nil).(error); ok {
			return err
		}
	}
	return v
}
