package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/client"
)

// searchParam is the text of a search. Parameters that filter may stand beside it.
//
//nolint:gochecknoglobals // constant table
var searchParam = field{
	name: "q", help: "A search, such as status:failed @region:eu started:<1h. See docs/reference/search.md. All other parameters must match, too.",
}

// selection is what the query of a request selects.
type selection struct {
	filter client.Filter
	search client.Search
	asked  bool // there is a search; else there is the filter alone
}

// selects returns what the query of the request selects.
func (c *call) selects() (selection, error) {
	return c.selectsOf(c.r.URL.Query(), c.isAPI())
}

func (c *call) selectsOf(q url.Values, emptyVersion bool) (s selection, err error) {
	if s.filter, err = filterOf(q, emptyVersion); err != nil {
		return s, err
	}
	if s.asked = q.Get(searchParam.name) != ""; !s.asked {
		if s.search, err = s.filter.Search(); err != nil && len(s.search.Terms()) == 0 {
			return s, err
		}
		return s, c.maySearch(&s.search)
	}
	now, err := c.client.SearchTime(c.r.Context(), q.Get(cursorParam.name))
	if err != nil {
		return s, err
	}
	if s.search, err = client.ParseSearch(q.Get(searchParam.name), now); err == nil {
		s.search, err = s.search.And(s.filter)
	}
	if err != nil {
		return s, badSearch(err)
	}
	return s, c.maySearch(&s.search)
}

// parseFilter returns the filter that the text of a query describes. A parameter that is none is refused: what is acted on must not be more than
// somebody meant.
func (c *call) parseFilter(text string) (client.Filter, error) {
	q, err := url.ParseQuery(text)
	if err != nil {
		return client.Filter{}, badInput("filter is %q: give the query of a list, such as status=Running&orchestration=Order", text)
	}
	known := filterParams()
	for name := range q {
		if !slices.ContainsFunc(known, func(f field) bool { return f.name == name }) {
			return client.Filter{}, badInput("filter has %q, which is no filter: give the query of a list, such as status=Running&orchestration=Order", name)
		}
	}
	s, err := c.selectsOf(q, false)
	if err != nil {
		return s.filter, err
	}
	return s.bulk()
}

// badSearch makes an error of the request's input of one of a search. It quotes nothing but the request.
func badSearch(err error) error {
	if bad, ok := errors.AsType[*client.SearchError](err); ok {
		return badInput("%v", bad)
	}
	return err
}

// maySearch refuses a search for what the principal may not see: which instances match would tell it.
func (c *call) maySearch(s *client.Search) error {
	for _, t := range s.Terms() {
		payload, what := Payload{Field: "attributes", Name: t.Attribute}, fmt.Sprintf("the attribute %q is hidden", t.Attribute)
		switch t.Word {
		case "@":
		case "group":
			payload, what = Payload{Field: "failureGroup"}, "failures are hidden"
		default:
			continue
		}
		if c.seesAll(payload, t) {
			continue
		}
		where := "search: "
		if t.Column > 0 {
			where = fmt.Sprintf("search, column %d: ", t.Column)
		}
		return refuse(http.StatusForbidden, "forbidden", "%s%s: leave %s out", where, what, t.Text)
	}
	return nil
}

// seesAll reports whether the principal may see each value that a term would find. Where Redact decides value by value, that is known of single
// values only.
func (c *call) seesAll(p Payload, t client.SearchTerm) bool {
	switch {
	case !c.texts || c.s.o.HidePayloads:
		return false
	case c.s.o.Redact == nil:
		return true
	}
	values, ok := t.Exact()
	if !ok {
		return false
	}
	for _, v := range values {
		data, err := json.Marshal(attributeOf(v).Value)
		if err != nil {
			return false
		}
		p.Data = data
		if shown, err := c.redact(p); err != nil || !bytes.Equal(shown, data) {
			return false
		}
	}
	return true
}

// list returns a page of what is selected.
func (s *selection) list(c *call, page client.Page) (client.Instances, error) {
	if !s.asked {
		return c.client.List(c.r.Context(), s.filter, page)
	}
	key := fmt.Sprintf("%d %s %s", page.Size, page.Cursor, s.search)
	return c.s.searches.list(c.r.Context(), key, func(ctx context.Context) (client.Instances, error) {
		return c.client.ListSearch(ctx, s.search, page)
	})
}

// count counts what is selected, up to most.
func (s *selection) count(c *call, most int64) (client.Counted, error) {
	if !s.asked {
		return c.client.CountUpTo(c.r.Context(), s.filter, most)
	}
	return c.s.searches.count(c.r.Context(), fmt.Sprintf("count %d %s", most, s.search), func(ctx context.Context) (client.Counted, error) {
		return c.client.CountSearchUpTo(ctx, s.search, most)
	})
}

// bulk returns the filter of a bulk job, which has no OR.
func (s *selection) bulk() (client.Filter, error) {
	if !s.asked {
		return s.filter, nil
	}
	f, ok := s.search.Filter()
	if !ok {
		return f, badInput("search: a bulk job takes no OR: begin a job for each branch")
	}
	return f, nil
}

// maxSearches is how many searches a server runs at once.
const maxSearches = 4

// searches runs searches, few at once, and those that are the same once.
type searches struct {
	slots chan struct{}

	mu      sync.Mutex
	flights map[string]*flight
}

// searched is what a search has found: a page, or how many there are.
type searched struct {
	list  client.Instances
	count client.Counted
}

// flight is a search that runs. It belongs to the request that began it.
type flight struct {
	done  chan struct{} // closed when found and err are set
	found searched
	err   error
	gone  bool // the request ended before the search did
}

func newSearches() *searches {
	return &searches{slots: make(chan struct{}, maxSearches), flights: map[string]*flight{}}
}

// list returns the page that read returns, or that the same search of another request does.
func (s *searches) list(ctx context.Context, key string, read func(context.Context) (client.Instances, error)) (client.Instances, error) {
	found, err := s.join(ctx, key, func(ctx context.Context) (found searched, err error) {
		found.list, err = read(ctx)
		return found, err
	})
	found.list.Items = slices.Clone(found.list.Items)
	return found.list, err
}

// count is list for how many there are. Its key is that of no list.
func (s *searches) count(ctx context.Context, key string, read func(context.Context) (client.Counted, error)) (client.Counted, error) {
	found, err := s.join(ctx, key, func(ctx context.Context) (found searched, err error) {
		found.count, err = read(ctx)
		return found, err
	})
	return found.count, err
}

// join returns what read returns, or what the same search of another request does.
func (s *searches) join(ctx context.Context, key string, read func(context.Context) (searched, error)) (searched, error) {
	for {
		s.mu.Lock()
		f := s.flights[key]
		if f == nil {
			f = &flight{done: make(chan struct{})}
			s.flights[key] = f
			s.mu.Unlock()
			return s.run(ctx, key, f, read)
		}
		s.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return searched{}, context.Cause(ctx)
		}
		if !f.gone {
			return f.found, f.err
		}
	}
}

// run reads when there is a slot.
func (s *searches) run(ctx context.Context, key string, f *flight, read func(context.Context) (searched, error)) (searched, error) {
	f.gone = true // also after a panic
	defer func() {
		s.mu.Lock()
		delete(s.flights, key)
		s.mu.Unlock()
		close(f.done)
	}()
	bounded, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-bounded.Done():
		if ctx.Err() != nil {
			return searched{}, context.Cause(ctx)
		}
		f.err = refuse(http.StatusTooManyRequests, "overloaded", "%d other searches run: try again", maxSearches)
		f.gone = false
		return f.found, f.err
	}
	f.found, f.err = read(ctx)
	f.gone = ctx.Err() != nil
	return f.found, f.err
}

// filterForm is what the form of filters shows of a selection. Rest is a search for all that the form has no place for.
type filterForm struct {
	Prefix, Orchestration, Version, Attribute, Status, Parent string
	CreatedAfter, CreatedBefore, EndedAfter, EndedBefore      string
	Blocked, Waiting, Retrying, Replaced, System              bool
	Rest                                                      string
}

// formOf returns the form of a selection. One with OR is left to the box alone.
func formOf(s *selection) (form filterForm) {
	f, ok := s.search.Filter()
	if !ok {
		return form
	}
	form = filterForm{
		Prefix: f.IDPrefix, Orchestration: f.Orchestration, Blocked: f.Blocked, Waiting: f.Waiting, Retrying: f.Retrying, Replaced: f.Replaced,
		System: f.System,
	}
	f.IDPrefix, f.Orchestration, f.Blocked, f.Waiting, f.Retrying, f.Replaced, f.System = "", "", false, false, false, false, false
	if !f.Parent.IsZero() {
		form.Parent = f.Parent.String()
		f.Parent = [16]byte{}
	}
	if len(f.Statuses) == 1 {
		form.Status, f.Statuses = string(f.Statuses[0]), nil
	}
	if len(f.CodeVersions) == 1 && f.CodeVersions[0] != "" {
		form.Version, f.CodeVersions = f.CodeVersions[0], nil
	}
	for _, t := range s.search.Terms() {
		if t.Word != "@" {
			continue
		}
		values, _ := t.Exact()
		if len(values) == 1 && !strings.Contains(t.Attribute, "=") {
			if a := attributeOf(values[0]); a.Type == "string" && !strings.Contains(t.Attribute, ":") {
				form.Attribute, f.Attributes = t.Attribute+"="+a.Value, slices.Clone(f.Attributes)[1:]
			}
		}
		break
	}
	const whole = "2006-01-02T15:04:05"
	for into, at := range map[*string]*time.Time{
		&form.CreatedAfter: &f.CreatedAfter, &form.CreatedBefore: &f.CreatedBefore, &form.EndedAfter: &f.EndedAfter, &form.EndedBefore: &f.EndedBefore,
	} {
		if !at.IsZero() && at.Nanosecond() == 0 {
			*into, *at = at.UTC().Format(whole), time.Time{}
		}
	}
	rest, err := f.Search()
	if err != nil { // it was a search before, and is shorter now
		return filterForm{}
	}
	form.Rest = rest.String()
	return form
}
