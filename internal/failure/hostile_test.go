package failure

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/history"
)

type rudeError struct{ method string }

func (e *rudeError) rude(method string) bool {
	if e.method == method {
		panic("rude " + method)
	}
	return true
}

func (e *rudeError) Error() string   { e.rude("Error"); return "polite" }
func (e *rudeError) Unwrap() error   { e.rude("Unwrap"); return errDeclined }
func (e *rudeError) Is(_ error) bool { e.rude("Is"); return false }

func (e *rudeError) MarshalJSON() ([]byte, error) {
	e.rude("MarshalJSON")
	return []byte("{}"), nil
}

func (*rudeError) UnmarshalJSON([]byte) error { return nil }

// selfError wraps itself.
type selfError struct{ width int }

func (e *selfError) Error() string { return "self" }

func (e *selfError) Unwrap() []error {
	all := make([]error, e.width)
	for i := range all {
		all[i] = e
	}
	return all
}

// listError cannot be compared, so looking it up in a map would panic.
type listError []string

func (e listError) Error() string { return strings.Join(e, "; ") }

// anyError can be compared by its type, but not with this value.
type anyError struct{ value any }

func (e anyError) Error() string { return fmt.Sprint(e.value) }

func TestTypedNil(t *testing.T) {
	s := newSet(t)
	var limit *limitError
	var own *Error
	for want, err := range map[string]error{
		"a nil *failure.limitError": limit, "a nil *failure.Error": own, "nested: ": fmt.Errorf("nested: %w", error(limit)),
	} {
		f, got := store(t, s, err)
		if !strings.Contains(got.Error(), want) {
			t.Errorf("%T became %q", err, got)
		}
		if f.Registered || IsNonRetryable(got) {
			t.Errorf("stored as %+v", f)
		}
	}
}

func TestPanickingMethods(t *testing.T) {
	for method, want := range map[string]string{
		"Error": "Error method panicked: rude Error", "Unwrap": "polite", "Is": "polite", "MarshalJSON": "polite (payload cannot be encoded",
	} {
		s := newSet(t)
		if method == "MarshalJSON" {
			if err := AddType[*rudeError](s, "rude"); err != nil {
				t.Fatal(err)
			}
		}
		_, got := store(t, s, &rudeError{method})
		if !strings.Contains(got.Error(), want) {
			t.Errorf("%s: got %q", method, got)
		}
		if errors.Is(got, errDeclined) != (method != "Unwrap") {
			t.Errorf("%s: causes are %v", method, got)
		}
	}
}

func TestErrorsThatCannotBeCompared(t *testing.T) {
	s := newSet(t)
	for _, err := range []error{listError{"a", "b"}, anyError{[]int{1}}} {
		if _, got := store(t, s, err); got.Error() != err.Error() {
			t.Errorf("%v became %v", err, got)
		}
		if failed := s.AddSentinel("x", err); !errors.Is(failed, ErrRegistration) {
			t.Errorf("registered %T: %v", err, failed)
		}
	}
}

func TestDeepNesting(t *testing.T) {
	s := newSet(t)
	for _, levels := range []int{1, maxDepth - 1, maxDepth, 30, 3000} {
		err := errDeclined
		for i := range levels {
			err = fmt.Errorf("%d: %w", i, err)
		}
		f, got := store(t, s, err)
		fits := levels < maxDepth
		if !errors.Is(got, errDeclined) {
			t.Errorf("%d levels: the sentinel is lost", levels)
		}
		if n := depth(f); n != min(levels+1, maxDepth) {
			t.Errorf("%d levels stored %d deep", levels, n)
		}
		if strings.Contains(deepest(f).Message, "(causes left out)") == fits {
			t.Errorf("%d levels: the cut is not noted", levels)
		}
		again, _ := store(t, s, got)
		if !reflect.DeepEqual(again, f) {
			t.Errorf("%d levels: changed when stored again", levels)
		}
	}
}

func depth(f history.Failure) int {
	n := 0
	for _, c := range f.Causes {
		n = max(n, depth(c))
	}
	return n + 1
}

func deepest(f history.Failure) history.Failure {
	for len(f.Causes) > 0 {
		f = f.Causes[0]
	}
	return f
}

func TestSizeIsBounded(t *testing.T) {
	s := newSet(t)
	huge := strings.Repeat("päy ", 1<<20)
	chain := errDeclined
	for range maxDepth - 1 {
		chain = fmt.Errorf("%s: %w", huge[:1<<18], chain)
	}
	for name, err := range map[string]error{
		"long message":  errors.Join(errors.New(huge), errDeclined),
		"long chain":    chain,
		"cycle":         errors.Join(errDeclined, &selfError{1}),
		"wide cycle":    errors.Join(errDeclined, &selfError{50}),
		"wide join":     errors.Join(errDeclined, errors.Join(make1000()...)),
		"last of many":  errors.Join(errors.Join(make1000()...), fmt.Errorf("at last: %w", errDeclined)),
		"large details": errors.Join(&Error{Message: "m", Details: []byte(huge)}, errDeclined),
	} {
		f, got := store(t, s, err)
		if size := len(history.EncodeFailure(f)); size > 256<<10 {
			t.Errorf("%s: stored in %d bytes", name, size)
		}
		if !errors.Is(got, errDeclined) {
			t.Errorf("%s: the sentinel is lost", name)
		}
		if again, _ := store(t, s, got); !reflect.DeepEqual(again, f) {
			t.Errorf("%s: changed when stored again", name)
		}
	}
}

func make1000() []error {
	errs := make([]error, 1000)
	for i := range errs {
		errs[i] = errors.New("one of many")
	}
	return errs
}

// A value without its details would be another value, so it is not restored.
func TestLargeDetailsAreNotHalfRestored(t *testing.T) {
	type bigError struct {
		limitError
		Text string
	}
	s := newSet(t)
	if err := AddType[*bigError](s, "big"); err != nil {
		t.Fatal(err)
	}
	_, got := store(t, s, &bigError{Text: strings.Repeat("x", maxDetails)})
	if _, ok := errors.AsType[*bigError](got); ok || !strings.Contains(got.Error(), "bytes of details left out") {
		t.Errorf("got %v", got)
	}
}

func TestRegistrationErrors(t *testing.T) {
	s := newSet(t)
	var nilSet *Set
	for what, err := range map[string]error{
		"name twice":      s.AddSentinel("declined", errors.New("x")),
		"name of a type":  s.AddSentinel("limit", errors.New("x")),
		"target twice":    s.AddSentinel("again", errDeclined),
		"nil":             s.AddSentinel("nil", nil),
		"typed nil":       s.AddSentinel("nil", (*limitError)(nil)),
		"engine":          s.AddSentinel("mine", ErrTimeout),
		"no name":         s.AddSentinel("", errors.New("x")),
		"long name":       s.AddSentinel(strings.Repeat("n", 513), errors.New("x")),
		"bad name":        s.AddSentinel("\xff", errors.New("x")),
		"nil set":         nilSet.AddSentinel("x", errors.New("x")),
		"type twice":      AddType[*limitError](s, "limit2"),
		"type name twice": AddType[*plainError](s, "declined"),
		"interface":       AddType[error](s, "error"),
		"own type":        AddType[*Error](s, "own"),
		"no fields":       AddType[*plainError](s, "plain"),
		"nil set, type":   AddType[*limitError](nil, "limit"),
	} {
		if !errors.Is(err, ErrRegistration) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestNilSetAndNilError(t *testing.T) {
	var s *Set
	if f := s.Encode(nil); f.Message != "" || f.Causes != nil {
		t.Errorf("nil became %+v", f)
	}
	if got := s.Decode(history.Failure{Type: "declined", Registered: true, Message: "m"}); got.Error() != "m" {
		t.Errorf("got %v", got)
	}
}

// Looking for a target runs methods of user errors, too.
func TestWraps(t *testing.T) {
	t.Parallel()
	var limit *limitError
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"itself":           {errDeclined, true},
		"wrapped":          {fmt.Errorf("a: %w", errors.Join(errors.New("b"), fmt.Errorf("c: %w", errDeclined))), true},
		"another":          {errors.New("declined"), false},
		"nothing":          {nil, false},
		"a nil pointer":    {limit, false},
		"Unwrap panics":    {&rudeError{"Unwrap"}, false},
		"Is panics":        {&rudeError{"Is"}, true},
		"wraps itself":     {&selfError{3}, false},
		"not comparable":   {listError{"a"}, false},
		"not by its value": {anyError{[]int{1}}, false},
	} {
		if got := Wraps(c.err, errDeclined); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// deepError has details that are nested one deeper than its field.
type deepError struct{ Field json.RawMessage }

func (e *deepError) Error() string { return "deep" }

// Details that nobody could read are left out where the error is stored, and its message says why.
func TestDetailsTooDeepAreLeftOut(t *testing.T) {
	s := new(Set)
	if err := AddType[*deepError](s, "deep"); err != nil {
		t.Fatal(err)
	}
	nested := func(depth int) error {
		return &deepError{json.RawMessage(strings.Repeat("[", depth) + strings.Repeat("]", depth))}
	}
	if _, got := store(t, s, nested(9_999)); !errors.As(got, new(*deepError)) {
		t.Errorf("details as deep as may be are lost: %v", got)
	}
	f, got := store(t, s, nested(10_000))
	if f.Registered || f.Details != nil || !strings.Contains(got.Error(), "more than 10000 deep") {
		t.Errorf("stored %d bytes of details, registered %t: %v", len(f.Details), f.Registered, got)
	}
}
