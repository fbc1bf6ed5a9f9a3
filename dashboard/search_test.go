package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
)

func searching(text string) string { return "?q=" + url.QueryEscape(text) }

// A search means the same in the API and on the page. Its mistakes are shown with their place, also where errors are hidden.
func TestSearchInPageAndAPI(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	text := "status:completed name:Order @region:eu OR status:failed"
	for _, path := range []string{"/instances", "/api/v1/instances"} {
		r := s.get(path + searching(text))
		if r.StatusCode != http.StatusOK || !strings.Contains(r.body, "order-1000") || !strings.Contains(r.body, "refund-17") || strings.Contains(r.body, "order-1001") {
			t.Errorf("%s: %d: %s", path, r.StatusCode, r.body)
		}
	}
	if r := s.get("/api/v1/instances/count" + searching(text)); !strings.Contains(r.body, `"exact":true`) || strings.Contains(r.body, `"count":"0"`) {
		t.Errorf("the count is %s", r.body)
	}
	if r := s.get("/instances" + searching(text)); strings.Contains(r.body, "/jobs/start?") || !strings.Contains(r.body, "without OR") {
		t.Error("a bulk job is offered for a search with OR")
	}
	if r := s.get("/api/v1/jobs/preview" + searching(text)); r.StatusCode != http.StatusBadRequest || !strings.Contains(r.body, "a bulk job takes no OR") {
		t.Errorf("previewing a job: %d: %s", r.StatusCode, r.body)
	}
	// What the form of filters sends stands beside the search, and what it shows comes from the search.
	r := s.get("/instances" + searching("@region:eu version:1,2") + "&status=Completed")
	for _, want := range []string{
		`value="status:completed version:1,2 @region:eu"`, "<option selected>Completed</option>", `name="attribute" value="region=eu"`, `name="q" value="version:1,2"`,
	} {
		if !strings.Contains(r.body, want) {
			t.Errorf("the page lacks %s: %s", want, r.body)
		}
	}
	for _, o := range []Options{{Authorize: as(client.RoleViewer)}, {}} {
		for _, path := range []string{"/instances", "/api/v1/instances", "/api/v1/instances/count", "/api/v1/jobs/preview"} {
			r := w.site(o).get(path + searching("name:Order statsu:failed"))
			if r.StatusCode != http.StatusBadRequest || !strings.Contains(r.body, "search, column 12: ") || !strings.Contains(r.body, "write status:") {
				t.Errorf("%s with a mistake: %d: %s", path, r.StatusCode, r.body)
			}
		}
	}
}

// Links and commands of a page have the times with which it was read, and so has a job that begins from it.
func TestHazard163_LinksHaveTheTimesOfThePage(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	list := s.get("/instances" + searching("started:<1h name:Order"))
	if list.StatusCode != http.StatusOK || !strings.Contains(list.body, `value="started:&lt;1h name:Order"`) {
		t.Fatalf("the list is %s", list.body)
	}
	for _, prefix := range []string{"/jobs/start?", "/api/v1/instances?", "/instances?q="} {
		link := list.link(t, prefix)
		text, err := url.QueryUnescape(link)
		if err == nil {
			text, err = url.QueryUnescape(text)
		}
		if err != nil || strings.Contains(text, "<1h") || !strings.Contains(text, "name:Order started:20") {
			t.Errorf("the link is %s: %v", text, err)
		}
		if r := s.get(link); r.StatusCode != http.StatusOK {
			t.Errorf("%s: %d: %s", link, r.StatusCode, r.body)
		}
	}
	// The form of a job has no relative times, whoever wrote its address.
	form := s.get("/jobs/start?filter=" + url.QueryEscape("q="+url.QueryEscape("started:<1h name:Order")))
	if strings.Contains(form.body, url.QueryEscape("<1h")+"+name") || !strings.Contains(form.body, `name="filter" value="q=name%3AOrder&#43;started%3A20`) {
		t.Errorf("the form is %s", form.body)
	}
}

// What a principal may not see finds nothing: an answer would tell it.
func TestHazard161_HiddenAttributesAreNotSearched(t *testing.T) {
	w := newWorld(t)
	redact := func(_ context.Context, _ client.Principal, p Payload) (json.RawMessage, error) {
		if p.Field == "attributes" && string(p.Data) == `"us"` {
			return json.RawMessage(`"hidden"`), nil
		}
		return p.Data, nil
	}
	open, none := Options{Authorize: as(client.RoleViewer)}, Options{}
	hidden := Options{Authorize: as(client.RoleAdmin), HidePayloads: true}
	redacted := Options{Authorize: as(client.RoleAdmin), Redact: redact}
	for _, c := range []struct {
		name string
		o    Options
		text string
		want int
	}{
		{"open", open, "status:running @region:us", http.StatusOK},
		{"open", open, "@region:u*", http.StatusOK},
		{"without access control", none, "status:running @region:eu", http.StatusForbidden},
		{"hidden", hidden, "status:running @region:eu", http.StatusForbidden},
		{"hidden", hidden, "status:failed group:x", http.StatusForbidden},
		{"redacted", redacted, "status:running @region:eu", http.StatusOK},
		{"redacted", redacted, "status:running @region:eu,us", http.StatusForbidden},
		{"redacted", redacted, "status:running @region:u*", http.StatusForbidden},
		{"redacted", redacted, "status:running @region:a..z", http.StatusForbidden},
		{"redacted", redacted, "name:a OR @region:us", http.StatusForbidden},
	} {
		for _, path := range []string{"/instances", "/api/v1/instances", "/api/v1/instances/count"} {
			r := w.site(c.o).get(path + searching(c.text))
			if r.StatusCode != c.want || c.want == http.StatusForbidden && (!strings.Contains(r.body, "column") || !strings.Contains(r.body, "hidden")) {
				t.Errorf("%s: %s of %s: %d: %s", c.name, path, c.text, r.StatusCode, r.body)
			}
		}
	}
	for _, path := range []string{"/instances?attribute=region%3Deu", "/api/v1/instances?attribute=region%3Deu", "/api/v1/jobs/preview?attribute=region%3Deu"} {
		if r := w.site(hidden).get(path); r.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d: %s", path, r.StatusCode, r.body)
		}
	}
}

// Searches that are the same run once, and four run at once. One whose request has ended leaves its turn to those that wait for it.
func TestHazard162_FewSearchesRunAtOnce(t *testing.T) {
	t.Parallel()
	s, began, end := newSearches(), make(chan string, 20), make(chan struct{})
	read := func(key string) func(context.Context) (client.Instances, error) {
		return func(ctx context.Context) (client.Instances, error) {
			began <- key
			select {
			case <-end:
				return client.Instances{Cursor: key}, nil
			case <-ctx.Done():
				return client.Instances{}, ctx.Err()
			}
		}
	}
	var all sync.WaitGroup
	search := func(ctx context.Context, key string, want error) {
		all.Go(func() {
			list, err := s.list(ctx, key, read(key))
			if !errors.Is(err, want) || want == nil && list.Cursor != key {
				t.Errorf("%s: %q, %v", key, list.Cursor, err)
			}
		})
	}
	first, leave := context.WithCancel(t.Context())
	defer leave()
	search(first, "a", context.Canceled)
	<-began
	for range 5 {
		search(t.Context(), "a", nil)
	}
	leave()
	<-began // one of those that wait
	for _, key := range []string{"b", "c", "d"} {
		search(t.Context(), key, nil)
		<-began
	}
	if len(s.slots) != maxSearches || len(began) > 0 {
		t.Errorf("%d searches run, and %d more have begun", len(s.slots), len(began))
	}
	refused, err := s.list(t.Context(), "e", read("e"))
	if status, _ := classify(err); status != http.StatusTooManyRequests || refused.Cursor != "" {
		t.Errorf("a fifth search: %v", err)
	}
	close(end)
	all.Wait()
	if len(s.flights) != 0 || len(s.slots) != 0 || len(began) > 0 {
		t.Errorf("%d flights and %d slots are left, %d more began", len(s.flights), len(s.slots), len(began))
	}
}

// Counts of searches take the slots of lists, and equal ones are one.
func TestHazard162_CountsShareTheSlots(t *testing.T) {
	full := newSearches()
	for range maxSearches {
		full.slots <- struct{}{}
	}
	found, err := client.ParseSearch("status:failed OR is:retrying", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	c := &call{s: &server{searches: full}, r: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)}
	_, err = (&selection{search: found, asked: true}).count(c, 10)
	if status, _ := classify(err); status != http.StatusTooManyRequests {
		t.Errorf("a count without a slot: %v", err)
	}
	counted, began, end := newSearches(), make(chan int, 9), make(chan struct{})
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			n, err := counted.count(t.Context(), "count", func(context.Context) (client.Counted, error) {
				began <- 1
				<-end
				return client.Counted{Count: 7}, nil
			})
			if err != nil || n.Count != 7 {
				t.Errorf("%v, %v", n, err)
			}
		})
	}
	<-began
	close(end)
	all.Wait()
	if n := len(counted.slots); n != 0 {
		t.Errorf("%d slots are left", n)
	}
}
