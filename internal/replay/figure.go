package replay

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/observe"
)

// The limits of the figures of a turn, and of their parts.
const (
	maxFigures        = 1_000 // counts that differ, and observations
	maxFigureName     = 100   // bytes, as of an attribute's name
	maxFigureAttrs    = 8
	maxFigureAttrText = 128 // bytes of an attribute's value
)

// Figure is what code counts or observes. It is no event: the turn that is stored has those that its code made, and a replay makes none.
type Figure struct {
	Name     string
	Attrs    []observe.Attr // sorted by name
	Observed bool           // Value counts, otherwise Count
	Count    int64
	Value    float64
}

// figures are those since the last confirmed commit. Code cannot see what becomes of them.
type figures struct {
	all    []Figure
	counts map[string]int // where a count stands in all, by name and attributes
	lost   int            // beyond the limits, or refused
	first  string         // why the first of these was
}

// Count adds n to a count of the turn.
func (s *Scope) Count(name string, n int64, attrs []observe.Attr) {
	f := s.figures()
	if f == nil {
		return
	}
	attrs, why := admitFigure(name, attrs)
	if why == "" && n < 0 {
		why = fmt.Sprintf("it is %d: a count does not fall; use Observe for values that do", n)
	}
	if why != "" {
		f.lose("count", name, why)
		return
	}
	key := figureKey(name, attrs)
	if at, known := f.counts[key]; known {
		if of := &f.all[at]; n <= math.MaxInt64-of.Count {
			of.Count += n
			return
		}
		f.lose("count", name, "the sum of the turn is greater than an int64")
		return
	}
	if f.add("count", Figure{Name: name, Attrs: attrs, Count: n}) {
		f.counts = with(f.counts, key, len(f.all)-1)
	}
}

// Observe adds an observation to the turn.
func (s *Scope) Observe(name string, value float64, attrs []observe.Attr) {
	f := s.figures()
	if f == nil {
		return
	}
	attrs, why := admitFigure(name, attrs)
	if why == "" && (math.IsNaN(value) || math.IsInf(value, 0)) {
		why = fmt.Sprintf("it is %v: give a finite number", value)
	}
	if why != "" {
		f.lose("observation", name, why)
		return
	}
	f.add("observation", Figure{Name: name, Attrs: attrs, Observed: true, Value: value})
}

// figures begins a call that makes a figure. It returns nil on a replay, which makes none.
func (s *Scope) figures() *figures {
	s.x.sched.enter()
	if s.x.events.replaying.Load() {
		return nil
	}
	return &s.x.figures
}

// add adds a figure, and reports whether there was room.
func (f *figures) add(what string, one Figure) bool {
	if len(f.all) >= maxFigures {
		f.lose(what, one.Name, fmt.Sprintf("the turn has %d already, which is the limit: count less, or wait in between", maxFigures))
		return false
	}
	f.all = append(f.all, one)
	return true
}

// lose counts a figure that is not told, and keeps why the first one is not.
func (f *figures) lose(what, name, why string) {
	if f.lost++; f.first == "" {
		f.first = fmt.Sprintf("%s %s: %s", what, check.Quote(name), why)
	}
}

// admitFigure returns the attributes sorted by name, and what is not allowed of a figure.
func admitFigure(name string, attrs []observe.Attr) (sorted []observe.Attr, why string) {
	if why := badFigureName("its name", name); why != "" {
		return nil, why
	}
	if len(attrs) > maxFigureAttrs {
		return nil, fmt.Sprintf("it has %d attributes, the limit is %d: give fewer", len(attrs), maxFigureAttrs)
	}
	sorted = slices.Clone(attrs) // the caller may change it
	slices.SortFunc(sorted, func(a, b observe.Attr) int { return strings.Compare(a.Name, b.Name) })
	for i, a := range sorted {
		what := "the attribute name " + check.Quote(a.Name)
		if why := badFigureName(what, a.Name); why != "" {
			return nil, why
		}
		if i > 0 && sorted[i-1].Name == a.Name {
			return nil, what + " stands twice: give each name once"
		}
		if len(a.Value) > maxFigureAttrText {
			return nil, fmt.Sprintf("the attribute %s has %d bytes, the limit is %d: give one of a few short words",
				check.Quote(a.Name), len(a.Value), maxFigureAttrText)
		}
		if err := check.Text("the attribute "+check.Quote(a.Name), a.Value); err != nil {
			return nil, err.Error()
		}
	}
	return sorted, ""
}

// badFigureName returns what is wrong with a name that not every system of metrics takes.
func badFigureName(what, name string) (why string) {
	const form = "use 1 to 100 letters, digits and '_', and begin with a letter"
	if name == "" || len(name) > maxFigureName {
		return fmt.Sprintf("%s has %d bytes: %s", what, len(name), form)
	}
	for i, r := range []byte(name) {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r != '_' && (r < '0' || r > '9')) {
			return fmt.Sprintf("%s has a character that is not allowed: %s", what, form)
		}
	}
	return ""
}

// figureKey tells counts apart. No part of it has a NUL.
func figureKey(name string, attrs []observe.Attr) string {
	var key strings.Builder
	key.WriteString(name)
	for _, a := range attrs {
		key.WriteString("\x00" + a.Name + "\x00" + a.Value)
	}
	return key.String()
}

// logLost logs that figures of a turn that is stored are not told.
func (x *core) logLost(f *figures) {
	if f.lost > 0 {
		write(func() { x.ownLogger().Warn("figures of the code were left out", "count", f.lost, "first", f.first) })
	}
}
