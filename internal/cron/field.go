package cron

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// field is one field of an expression. It keeps the form in which it was written.
type field struct {
	values uint64 // a bit for each value that matches
	every  bool   // * or ?, without a step over 1
	spread bool   // a wildcard, range or step is in it
}

func (f *field) has(value int) bool { return f.values>>value&1 == 1 }

// next returns the first value that matches and is at least from, and whether there is one.
func (f *field) next(from int) (value int, ok bool) {
	rest := f.values >> from
	if rest == 0 {
		return 0, false
	}
	return from + bits.TrailingZeros64(rest), true
}

// kind says what the values of a field are.
type kind struct {
	what     string
	min, max int
	names    []string // of the values from min on
	anyDay   bool     // ? is allowed
}

//nolint:gochecknoglobals // constant table
var (
	seconds  = kind{what: "second", max: 59}
	minutes  = kind{what: "minute", max: 59}
	hours    = kind{what: "hour", max: 23}
	days     = kind{what: "day of the month", min: 1, max: 31, anyDay: true}
	months   = kind{what: "month", min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}}
	weekdays = kind{what: "day of the week", max: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, anyDay: true}
)

// parse reads a field: a list of values, ranges and steps. special takes items that only this field has.
func (k *kind) parse(text string, special func(item string) (bool, error)) (f field, err error) {
	for item := range strings.SplitSeq(text, ",") {
		taken := false
		if special != nil {
			taken, err = special(item)
		}
		if err == nil && !taken {
			err = k.add(&f, item)
		}
		if err != nil {
			return f, fmt.Errorf("%s %q: %w", k.what, text, err)
		}
	}
	return f, nil
}

// add reads one item of a list: *, a, a-b, each with /step behind.
func (k *kind) add(f *field, item string) error {
	body, stepText, stepped := strings.Cut(item, "/")
	step := 1
	if stepped {
		var err error
		if step, err = number(stepText); err != nil || step < 1 || step > k.max {
			return fmt.Errorf("step %q: give 1 to %d", stepText, k.max)
		}
	}
	from, to, err := k.bounds(f, body, stepped)
	if err != nil {
		return err
	}
	if body == "*" || body == "?" {
		f.every = f.every || step == 1
	}
	for v := from; v <= to; v += step {
		f.values |= 1 << v
	}
	return nil
}

// bounds reads what stands in front of a step: a wildcard, a range or a value.
func (k *kind) bounds(f *field, body string, stepped bool) (from, to int, err error) {
	if body == "*" || body == "?" && k.anyDay {
		f.spread = true
		return k.min, k.last(), nil
	}
	first, second, ranged := strings.Cut(body, "-")
	if from, err = k.value(first); err != nil {
		return 0, 0, err
	}
	switch to = from; {
	case ranged:
		to, err = k.value(second)
	case stepped:
		to = k.last()
	}
	if err == nil && to < from {
		err = fmt.Errorf("range %q runs backwards: write it as two, %s-%d,%d-%s", body, first, k.last(), k.min, second)
	}
	f.spread = f.spread || ranged || stepped
	return from, to, err
}

// last is the greatest value that a wildcard or an open step reaches. Weekday 7 is another name of Sunday.
func (k *kind) last() int {
	if k.max == 7 {
		return 6
	}
	return k.max
}

// value reads a number or a name.
func (k *kind) value(text string) (int, error) {
	for i, name := range k.names {
		if strings.EqualFold(text, name) {
			return k.min + i, nil
		}
	}
	v, err := number(text)
	if err != nil || v < k.min || v > k.max {
		return 0, fmt.Errorf("%q: give %d to %d%s", text, k.min, k.max, k.named())
	}
	return v, nil
}

func (k *kind) named() string {
	if len(k.names) == 0 {
		return ""
	}
	return fmt.Sprintf(" or %s to %s", strings.ToUpper(k.names[0]), strings.ToUpper(k.names[len(k.names)-1]))
}

// number reads one to three digits and nothing else: no sign, no space.
func number(text string) (int, error) {
	if len(text) > 3 || strings.Trim(text, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(text) //nolint:wrapcheck // the caller says what is wrong
}
