package dashboard

import (
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// Every page opens, under a prefix, and its links stay below the prefix.
func TestPages(t *testing.T) {
	w := newWorld(t)
	for _, prefix := range []string{"", "/ops/perdure"} {
		s := w.site(Options{Prefix: prefix, Authorize: as(client.RoleAdmin)})
		for _, path := range []string{
			"/", "/instances", "/instances?status=Completed&attribute=region=eu", "/instances?blocked=true", "/instances/" + w.key("order-1000"),
			"/instances/" + w.key("order-1000") + "?payloads=show", "/instances/" + w.key("order-1006"), "/instances/" + w.key("order-1007"),
			"/instances/" + w.key("bill-november"), "/instances/" + w.key("refund-17"), "/instances/" + w.key("reminder-ann"),
			"/instances/" + w.key("order-1000") + "/history", "/instances/" + w.key("order-1000") + "/history?form=full&newest=true&payloads=show",
			"/incident", "/schedules", "/schedules/create", "/jobs", "/jobs/start?filter=status%3DRunning", "/queues", "/queues/pause?name=default", "/nodes", "/dead-letters", "/audit", "/instances/start", "/instances/" + w.key("order-1006") + "/raise",
		} {
			r := s.get(path)
			if r.StatusCode != http.StatusOK {
				t.Errorf("%s: status %d: %s", path, r.StatusCode, r.body)
				continue
			}
			for _, link := range strings.Split(r.body, `href="`)[1:] {
				link, _, _ = strings.Cut(link, `"`)
				if !strings.HasPrefix(link, prefix+"/") && !strings.HasPrefix(link, "#") {
					t.Errorf("%s: link %q is not below %q", path, link, prefix)
				}
			}
			if problem := strings.Index(r.body, `role="alert"`); problem >= 0 {
				t.Errorf("%s: %s", path, r.body[problem:min(len(r.body), problem+200)])
			}
		}
	}
}

// links returns the addresses of a page's links, as a browser reads them.
func (r reply) links() (all []string) {
	for _, link := range strings.Split(r.body, `href="`)[1:] {
		link, _, _ = strings.Cut(link, `"`)
		all = append(all, html.UnescapeString(link))
	}
	return all
}

// link returns the first link that begins so.
func (r reply) link(t *testing.T, prefix string) string {
	t.Helper()
	for _, link := range r.links() {
		if strings.HasPrefix(link, prefix) {
			return link
		}
	}
	t.Fatalf("no link begins with %s: %q", prefix, r.links())
	return ""
}

// Links lead to what they say: filters and names in addresses are escaped once.
func TestLinksKeepFiltersAndNames(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	list := s.get("/instances?orchestration=Order&status=Completed&attribute=region%3Deu")
	if !strings.Contains(list.body, "order-1000") || strings.Contains(list.body, "order-1001") {
		t.Fatalf("the list is %s", list.body)
	}
	preview := s.get(list.link(t, "/jobs/start?"))
	if !strings.Contains(preview.body, "<strong>2</strong> instances match") {
		t.Errorf("acting on all that match previews %s", preview.body)
	}
	if got := s.get(list.link(t, "/api/v1/instances?")); !strings.Contains(got.body, "order-1000") || strings.Contains(got.body, "order-1001") {
		t.Errorf("the list as JSON is %s", got.body)
	}
	for _, page := range []string{"/", "/instances"} {
		link := s.get(page).link(t, "/instances?status=Failed")
		if got := s.get(link); !strings.Contains(got.body, "refund-17") || strings.Contains(got.body, "reminder-ann") {
			t.Errorf("%s of %s leads to %s", link, page, got.body)
		}
	}
	const name = "a b&c=d/é%20?#+"
	if r := s.form("/queues/pause?name="+url.QueryEscape(name), nil); r.StatusCode != http.StatusSeeOther {
		t.Fatalf("pausing: %d: %s", r.StatusCode, r.body)
	}
	resume := ""
	for _, link := range s.get("/queues").links() {
		if strings.HasPrefix(link, "/queues/resume?") {
			resume = link
		}
	}
	form := s.get(resume)
	_, action, _ := strings.Cut(form.body, `action="/queues`)
	action, _, _ = strings.Cut(action, `"`)
	if r := s.form("/queues"+html.UnescapeString(action), nil); r.StatusCode != http.StatusSeeOther {
		t.Errorf("resuming by %q: %d: %s", action, r.StatusCode, r.body)
	}
	if queues, err := operate.New(w.client).Queues(t.Context()); err != nil || slices.ContainsFunc(queues, func(q operate.QueueInfo) bool { return q.Paused != nil }) {
		t.Errorf("a queue is still paused: %+v, %v", queues, err)
	}
}

// A filter of a bulk job that has a parameter which is none is refused: it would match more than somebody meant.
func TestAFilterThatIsNoneIsRefused(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	for _, filter := range []string{"stauts=Running", "status%3DRunning", "status=Running&limit=1"} {
		if r := s.get("/jobs/start?filter=" + url.QueryEscape(filter)); r.StatusCode != http.StatusBadRequest {
			t.Errorf("the preview of %q: %d", filter, r.StatusCode)
		}
		if r := s.call("/jobs/start", object{"act": "cancel", "filter": filter, "max": 1}); r.StatusCode != http.StatusBadRequest {
			t.Errorf("a job of %q: %d: %s", filter, r.StatusCode, r.body)
		}
	}
}
