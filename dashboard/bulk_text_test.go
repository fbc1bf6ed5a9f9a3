package dashboard

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/operate"
)

// The page of a job on a group counts one text alone, in the form in which the job takes it. Addresses, which are in logs, do not have the text.
func TestHazard160_ThePageCountsTheText(t *testing.T) {
	w := newWorld(t)
	d := w.failedGroup()
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	filter := "failureGroup=" + d.FailureGroup
	quoted := html.EscapeString(bulk.QuoteText(d.Excerpt.Text))
	all := s.get("/jobs/start?filter=" + url.QueryEscape(filter))
	_, link, found := strings.Cut(all.body, `<a href="/jobs/start?`)
	link, _, _ = strings.Cut(link, `"`)
	if !found || !strings.Contains(all.body, quoted+"</code></a>") || strings.Contains(link, "text") || !strings.Contains(link, "only=") {
		t.Fatalf("the page has no text to choose, link %q: %s", link, all.body)
	}
	one := s.get("/jobs/start?" + html.UnescapeString(link))
	if !strings.Contains(one.body, "with the text <code>"+quoted) || !strings.Contains(one.body, `name="text" value="`+quoted) {
		t.Errorf("the page of one text says: %s", one.body)
	}
	if r := s.get("/jobs/start?filter=status%3DRunning"); strings.Contains(r.body, `name="text"`) || strings.Contains(r.body, `name="allTexts"`) {
		t.Error("a filter without a group offers a choice of texts")
	}
	for text, want := range map[string]int{
		`"no such text"`: http.StatusBadRequest, `"open`: http.StatusBadRequest, bulk.QuoteText(d.Excerpt.Text): http.StatusOK, d.Excerpt.Text: http.StatusOK,
	} {
		if r := s.call("/jobs/start", object{"act": "raise", "event": "go", "filter": filter, "max": 1, "text": text}); r.StatusCode != want {
			t.Errorf("text %s: status %d, want %d: %s", text, r.StatusCode, want, r.body)
		}
	}
	jobs, _, err := operate.New(w.client).Bulks(t.Context(), client.Page{})
	if err != nil || len(jobs) != 2 {
		t.Errorf("%+v %v, want the two jobs with the text", jobs, err)
	}
}

// The page of a job that retries counts what retries, names the queue to pause first, and refuses to begin without a rate.
func TestHazard154_ThePageOffersTheQueueFirst(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleOperator)})
	retrying := s.get("/retrying")
	if !strings.Contains(retrying.body, `href="/jobs/start?act=retry-now&amp;filter=retrying%3Dtrue"`) {
		t.Fatalf("the page of what retries has no link: %s", retrying.body)
	}
	r := s.get("/jobs/start?act=retry-now&filter=retrying%3Dtrue")
	if !strings.Contains(r.body, "<option selected>retry-now") || !strings.Contains(r.body, `href="/queues/pause?name=`) {
		t.Errorf("the page of the job says: %s", r.body)
	}
	for rate, want := range map[string]int{"": http.StatusBadRequest, "5": http.StatusOK} {
		if r := s.call("/jobs/start", object{"act": "retry-now", "filter": "", "max": 1, "rate": rate}); r.StatusCode != want {
			t.Errorf("rate %q: status %d, want %d: %s", rate, r.StatusCode, want, r.body)
		}
	}
	viewer := w.site(Options{Authorize: as(client.RoleViewer)})
	if r := viewer.call("/jobs/start", object{"act": "retry-now", "filter": "", "max": 1, "rate": "5"}); r.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer retries: status %d", r.StatusCode)
	}
	if r := viewer.get("/retrying"); strings.Contains(r.body, "retry-now") {
		t.Error("a viewer is offered to retry")
	}
}
