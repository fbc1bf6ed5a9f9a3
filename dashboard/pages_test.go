package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
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
			"/schedules", "/schedules/create", "/jobs", "/jobs/start?filter=status%3DRunning", "/queues", "/queues/pause?name=default", "/nodes", "/dead-letters", "/audit", "/instances/start", "/instances/" + w.key("order-1006") + "/raise",
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
