package client

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/provider"
)

// Bounds of a search. They bound what one call can ask of a store.
const (
	maxSearchBytes    = 2 << 10
	maxSearchBranches = 4
	maxSearchTerms    = 16
)

// Search selects instances by a text such as
//
//	status:failed name:checkout @region:eu started:<1h
//
// Terms with a space between them must all hold. OR stands between at most 4 branches, any of which may hold. A search has at most 16
// terms and 2 KiB. docs/reference/search.md has the grammar and all words. The zero value selects all instances. A Search does not change,
// so that several goroutines can use it at once.
type Search struct {
	branches []Filter // empty: one without conditions
	terms    []SearchTerm
	now      time.Time // by which relative times were made absolute; zero: not known
}

// SearchTerm is a condition of a search, where it stands in the text.
type SearchTerm struct {
	Word      string // such as "status"; "@" for an attribute
	Attribute string // its name, if Word is "@"
	Text      string // as it was written
	Column    int    // of its first character, from 1; 0: it comes from a Filter

	match provider.AttributeMatch // of an attribute
}

// Exact returns the values of which an attribute must have one, as JSON has them. ok is false for a range, a prefix and other words.
func (t SearchTerm) Exact() (values []any, ok bool) {
	for _, v := range t.match.Any {
		values = append(values, searchValue(t.match.Kind, v))
	}
	return values, len(values) > 0
}

// Filters returns a filter for each branch of the search. An instance is found if it matches one of them.
func (s Search) Filters() []Filter {
	if len(s.branches) == 0 {
		return []Filter{{}}
	}
	return slices.Clone(s.branches)
}

// Filter returns the filter of a search without OR. ok is false for one with several branches.
func (s Search) Filter() (f Filter, ok bool) {
	if len(s.branches) > 1 {
		return f, false
	}
	return s.Filters()[0], true
}

// Terms returns the conditions of the search in the order of its text.
func (s Search) Terms() []SearchTerm { return slices.Clone(s.terms) }

// And returns a search whose branches must match the filter, too. It returns a *SearchError if both set what can be set only once, or if
// the result has too many terms.
func (s Search) And(f Filter) (Search, error) {
	other, err := f.Search()
	if err != nil {
		return s, err
	}
	add := other.Filters()[0]
	both := Search{terms: slices.Concat(s.terms, other.terms), now: s.now}
	for _, b := range s.Filters() {
		if err := b.and(&add); err != nil {
			return s, err
		}
		both.branches = append(both.branches, b)
	}
	return both, both.bounded()
}

// and adds the conditions of another filter.
func (f *Filter) and(o *Filter) error {
	for _, one := range []struct {
		word string
		both bool
	}{
		{"status", len(f.Statuses) > 0 && len(o.Statuses) > 0},
		{"name", f.Orchestration != "" && o.Orchestration != ""},
		{"version", len(f.CodeVersions) > 0 && len(o.CodeVersions) > 0},
		{"id", f.IDPrefix != "" && o.IDPrefix != ""},
		{"parent", !f.Parent.IsZero() && !o.Parent.IsZero()},
		{"group", f.FailureGroup != "" && o.FailureGroup != ""},
	} {
		if one.both {
			return &SearchError{Why: one.word + ": is set by the search and beside it", Mend: "give it once"}
		}
	}
	if len(o.Statuses) > 0 {
		f.Statuses = o.Statuses
	}
	if len(o.CodeVersions) > 0 {
		f.CodeVersions = o.CodeVersions
	}
	if !o.Parent.IsZero() {
		f.Parent = o.Parent
	}
	f.Orchestration, f.IDPrefix, f.FailureGroup = f.Orchestration+o.Orchestration, f.IDPrefix+o.IDPrefix, f.FailureGroup+o.FailureGroup
	f.Blocked, f.Waiting, f.Retrying = f.Blocked || o.Blocked, f.Waiting || o.Waiting, f.Retrying || o.Retrying
	f.Replaced, f.System = f.Replaced || o.Replaced, f.System || o.System
	f.CreatedAfter, f.CreatedBefore = later(f.CreatedAfter, o.CreatedAfter), earlier(f.CreatedBefore, o.CreatedBefore)
	f.EndedAfter, f.EndedBefore = later(f.EndedAfter, o.EndedAfter), earlier(f.EndedBefore, o.EndedBefore)
	f.Attributes = slices.Concat(f.Attributes, o.Attributes)
	return f.timesHold()
}

// timesHold refuses ranges that hold no time.
func (f *Filter) timesHold() error {
	for _, r := range []struct {
		word        string
		from, until time.Time
	}{{"started", f.CreatedAfter, f.CreatedBefore}, {"ended", f.EndedAfter, f.EndedBefore}} {
		if max(r.from.Year(), r.until.Year()) > lastYear {
			return &SearchError{Why: r.word + ": has a time after the year 9999", Mend: "leave it out"}
		}
		if !r.from.IsZero() && !r.until.IsZero() && !r.from.Before(r.until) {
			return &SearchError{Why: r.word + ": leaves no time", Mend: "let the range begin before it ends"}
		}
	}
	for i := range f.Attributes {
		m := &f.Attributes[i].match
		for _, v := range m.Any {
			if m.Kind == provider.AttributeInstant && time.UnixMicro(v.Number).UTC().Year() > lastYear {
				return &SearchError{Why: "@" + nameText(m.Name) + ": has a time after the year 9999", Mend: "leave it out"}
			}
		}
	}
	return nil
}

// later returns the later of two lower bounds.
func later(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.After(a) {
		return b
	}
	return a
}

// earlier returns the earlier of two upper bounds.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Search returns the search of which this is the only filter. It returns a *SearchError if the filter has more than the text of a search
// can, and an ErrInvalid if it is invalid itself.
func (f Filter) Search() (Search, error) {
	if _, err := f.stored(); err != nil {
		return Search{}, err
	}
	s := Search{branches: []Filter{f.whole()}}
	s.terms = f.terms()
	if err := f.timesHold(); err != nil {
		return s, err
	}
	return s, s.bounded()
}

// whole returns the filter with the microseconds that stores have.
func (f Filter) whole() Filter {
	for _, at := range []*time.Time{&f.CreatedAfter, &f.CreatedBefore, &f.EndedAfter, &f.EndedBefore} {
		if !at.IsZero() {
			*at = time.UnixMicro(at.UnixMicro()).UTC()
		}
	}
	return f
}

// bounded refuses a search that has too much.
func (s Search) bounded() error {
	n := 0
	for i := range s.branches {
		n += len(s.branches[i].terms())
	}
	if n > maxSearchTerms {
		return &SearchError{Why: fmt.Sprintf("it has %d terms", n), Mend: fmt.Sprintf("give at most %d", maxSearchTerms)}
	}
	if n := len(s.String()); n > maxSearchBytes {
		return &SearchError{Why: fmt.Sprintf("it has %d bytes when it is written out", n), Mend: fmt.Sprintf("give at most %d", maxSearchBytes)}
	}
	return nil
}

// String returns the search in its canonical form, in which times are absolute and in UTC. ParseSearch reads it as the same search, at any time.
func (s Search) String() string {
	branches := make([]string, 0, len(s.branches))
	for i := range s.branches {
		terms := s.branches[i].terms()
		texts := make([]string, len(terms))
		for n := range terms {
			texts[n] = terms[n].Text
		}
		branches = append(branches, strings.Join(texts, " "))
	}
	return strings.Join(branches, " OR ")
}
