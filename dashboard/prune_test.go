package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// newOld is a store whose n instances were terminated 40 days ago.
func newOld(t *testing.T, n int) *world {
	t.Helper()
	clock := ahead{new(atomic.Int64)}
	store := memory.New(memory.Options{Clock: clock})
	t.Cleanup(func() { _ = store.Close() })
	c := clienttest.New(t, store, client.Options{Logger: slog.New(slog.DiscardHandler)})
	for i := range n {
		h, err := client.StartNamed[any](t.Context(), c, "Order", nil, client.WithID(fmt.Sprint("old-", i)))
		if err == nil {
			err = h.Terminate(t.Context(), "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	clock.by.Add(int64(40 * 24 * time.Hour))
	return &world{t, c}
}

// left returns how many instances there are.
func (w *world) left() int64 {
	w.t.Helper()
	n, err := w.client.Count(w.t.Context(), client.Filter{Orchestration: "Order"})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// The form of a prune counts before it deletes: it deletes nothing by fields that it has not counted.
func TestTheFormOfAPruneCountsFirst(t *testing.T) {
	t.Parallel()
	w := newOld(t, 5)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	const path = "/instances/prune"
	has := func(r reply, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if r.StatusCode != http.StatusOK || !strings.Contains(r.body, text) {
				t.Errorf("status %d, want %q: %s", r.StatusCode, text, r.body)
			}
		}
	}
	begin := s.get(path)
	has(begin, "What matches now", "<dd>5</dd>")
	has(s.get(path+"?age=2000h"), "<dd>0</dd>")
	for _, q := range []string{"?age=soon", "?age=1h", "?statuses=Gone"} { // somebody fills them
		if r := s.get(path + q); r.StatusCode != http.StatusOK || strings.Contains(r.body, "What matches now") || strings.Contains(r.body, `name="counted"`) {
			t.Errorf("%s: %d: %s", q, r.StatusCode, r.body)
		}
	}
	has(s.get(path+"?age=%20720h%20&names=%0D%0AOrder%0D%0A"), "<dd>5</dd>")
	old := formValue(t, begin.body, "counted")
	for name, in := range map[string]url.Values{
		"nothing counted":  {"age": {"720h"}, "limit": {"2"}},
		"another age":      {"age": {"48h"}, "limit": {"1000"}, "counted": {old}},
		"another name":     {"age": {"720h"}, "names": {"Order"}, "limit": {"1000"}, "counted": {old}},
		"asked to count":   {"age": {"720h"}, "limit": {"1000"}, "counted": {old}, "preview": {"true"}},
		"a made-up number": {"age": {"720h"}, "limit": {"1000"}, "counted": {"5"}},
	} {
		if r := s.form(path, in); r.StatusCode != http.StatusOK || !strings.Contains(r.body, "<dd>5</dd>") || w.left() != 5 {
			t.Errorf("%s: status %d, %d left: %s", name, r.StatusCode, w.left(), r.body)
		}
	}
	for text, in := range map[string]url.Values{
		"age is missing":            {"limit": {"2"}},
		"age 1h0m0s is less than":   {"age": {"1h"}, "limit": {"2"}},
		"is none of an ended inst":  {"age": {"48h"}, "limit": {"2"}, "statuses": {"Running"}},
		"limit must be a whole num": {"age": {"48h"}, "limit": {"many"}},
	} {
		if r := s.form(path, in); r.StatusCode != http.StatusBadRequest || !strings.Contains(r.body, text) || !strings.Contains(r.body, `name="age"`) {
			t.Errorf("%s: status %d, want the form again: %s", text, r.StatusCode, r.body)
		}
	}
	in := url.Values{"age": {"720h"}, "names": {"Order\r\n"}, "limit": {"2"}}
	in.Set("counted", formValue(t, s.form(path, in).body, "counted"))
	done := s.form(path, in)
	if done.StatusCode != http.StatusSeeOther || w.left() != 3 {
		t.Errorf("status %d, %d are left, want 3: %s", done.StatusCode, w.left(), done.body)
	}
	for range 2 { // to read the page once more deletes nothing
		has(s.get(done.Header.Get("Location")), "Deleted: <strong>2</strong>", "<dd>3</dd>", `name="limit" value="2"`)
	}
	if w.left() != 3 {
		t.Errorf("%d are left, want 3", w.left())
	}
}

// Whoever may not delete may count, by the API, and nobody deletes by counting.
func TestTheAPICountsWhatWouldGo(t *testing.T) {
	t.Parallel()
	w := newOld(t, 5)
	viewer, admin := w.site(Options{Authorize: as(client.RoleViewer), HidePayloads: true}), w.site(Options{Authorize: as(client.RoleAdmin)})
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/instances/prune/preview?age=720h", http.StatusOK, `{"count":"5","exact":true}`},
		{"/instances/prune/preview?age=720h&names=Order&names=Other&statuses=Terminated", http.StatusOK, `{"count":"5","exact":true}`},
		{"/instances/prune/preview?age=720h&statuses=Failed", http.StatusOK, `{"count":"0","exact":true}`},
		{"/instances/prune/preview?age=720h&status=Failed", http.StatusBadRequest, `there is no parameter \"status\"`},
		{"/instances/prune/preview?age=1h", http.StatusBadRequest, "less than 24h0m0s"},
		{"/instances/prune/preview", http.StatusBadRequest, "age is missing"},
		{"/instances/trim/preview?age=720h&keep=2", http.StatusOK, `{"count":"0","exact":true}`},
		{"/instances/trim/preview?age=1h", http.StatusBadRequest, "give at least 24h0m0s"},
		{
			"/retention/preview?rules=Order:Failed%3D48h&rules=Order%3Dforever&rules=48h&audit=24h", http.StatusOK,
			`{"rules":[{"count":"0","exact":true},{"count":"0","exact":true},{"count":"0","exact":true}],"own":{"count":"0","exact":true},` +
				`"executions":{"count":"0","exact":true},"records":{"count":"0","exact":true}}`,
		},
		{"/retention/preview?rules=48h", http.StatusOK, `{"rules":[{"count":"5","exact":true}]`},
		{"/retention/preview", http.StatusOK, `{"rules":[]`},
		{"/retention/preview?keep=3", http.StatusBadRequest, "keep is for trim"},
		{"/retention/preview?rules=", http.StatusOK, `{"rules":[]`},
		{"/retention/preview?rules=1h", http.StatusBadRequest, "less than 24h0m0s"},
	} {
		if r := viewer.get("/api/v1" + c.path); r.StatusCode != c.status || !strings.Contains(r.body, c.want) {
			t.Errorf("%s: status %d, want %d with %s: %s", c.path, r.StatusCode, c.status, c.want, r.body)
		}
	}
	if r := admin.call("/retention/set", object{"rules": []string{"48h"}}); r.StatusCode != http.StatusNoContent {
		t.Errorf("status %d: %s", r.StatusCode, r.body)
	}
	if r := viewer.get("/api/v1/retention/preview"); !strings.Contains(r.body, `{"rules":[{"count":"5","exact":true}]`) {
		t.Errorf("by the rules that are set: %s", r.body)
	}
	for _, path := range []string{"/instances/prune", "/instances/trim", "/retention/set", "/retention/run"} {
		if r := viewer.get(path); r.StatusCode != http.StatusForbidden || strings.Contains(r.body, "What matches now") {
			t.Errorf("%s for a viewer: %d", path, r.StatusCode)
		}
	}
	if r := viewer.get("/api/v1/retention/preview?audit=0s"); !strings.Contains(r.body, `{"rules":[]`) {
		t.Errorf("by rules that are given and keep all: %s", r.body)
	}
	if w.left() != 5 {
		t.Errorf("%d are left, want 5", w.left())
	}
}

// lookless is a store that cannot look for what to remove.
type lookless struct{ *provider.Full }

func (lookless) Prune(context.Context, provider.PruneRequest) (provider.PruneResult, error) {
	return provider.PruneResult{}, &provider.Error{Op: "prune", Outcome: provider.OutcomeNothing, Err: errors.New("the disk is gone")}
}

// Where the store fails, the form says that it could not count, and is bound to nothing.
func TestTheFormSaysThatItCouldNotCount(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	w := &world{t, clienttest.New(t, lookless{provider.FullOf(store)}, client.Options{Logger: slog.New(slog.DiscardHandler)})}
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	r := s.get("/instances/prune")
	if r.StatusCode != http.StatusOK || !strings.Contains(r.body, "It could not be counted") || strings.Contains(r.body, `name="counted"`) || !strings.Contains(r.body, `name="age"`) {
		t.Errorf("status %d: %s", r.StatusCode, r.body)
	}
	if r := s.form("/instances/prune", url.Values{"age": {"720h"}, "limit": {"10"}}); r.StatusCode < 500 || strings.Contains(r.body, "What matches now") {
		t.Errorf("status %d: %s", r.StatusCode, r.body)
	}
}

// The forms of retention count what the rules would remove before they are set, and before a round by them.
func TestTheFormsOfRetentionCountFirst(t *testing.T) {
	t.Parallel()
	w := newOld(t, 5)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	on := func() bool {
		t.Helper()
		return s.get("/api/v1/retention").json(t)["on"] == true
	}
	in := url.Values{"rules": {"an Order:Failed=48h\r\nOther=forever\r\n720h"}, "audit": {"48h"}}
	r := s.form("/retention/set", in)
	rows := "<dt>Instances by rule 1, an Order:Failed=48h</dt><dd>0</dd><dt>Instances by rule 3, 720h</dt><dd>5</dd>" +
		"<dt>Ended schedules and bulk jobs</dt><dd>0</dd><dt>Records of the audit</dt><dd>0</dd>"
	if r.StatusCode != http.StatusOK || !strings.Contains(r.body, rows) || on() {
		t.Errorf("status %d, on: %v: %s", r.StatusCode, on(), r.body)
	}
	in.Set("counted", formValue(t, r.body, "counted"))
	if r := s.form("/retention/set", in); r.StatusCode != http.StatusSeeOther || !on() {
		t.Errorf("status %d, on: %v: %s", r.StatusCode, on(), r.body)
	}
	for _, path := range []string{"/retention/set", "/retention/run"} { // with the rules that are set
		if r := s.get(path); !strings.Contains(r.body, rows) {
			t.Errorf("%s: status %d: %s", path, r.StatusCode, r.body)
		}
	}
	seen := url.Values{"counted": {s.field("/retention/run", "counted")}}
	if r := s.call("/retention/set", object{"rules": []string{"48h"}}); r.StatusCode != http.StatusNoContent {
		t.Errorf("status %d: %s", r.StatusCode, r.body)
	}
	// The rules have changed since the form was shown: it begins no round by others.
	if r := s.form("/retention/run", seen); r.StatusCode != http.StatusOK || !strings.Contains(r.body, "Instances by rule 1, 48h</dt><dd>5</dd>") {
		t.Errorf("status %d: %s", r.StatusCode, r.body)
	}
	if r := s.form("/retention/set", url.Values{"rules": {"48h"}, "off": {"true"}}); r.StatusCode != http.StatusSeeOther || on() {
		t.Errorf("switching it off removes nothing and needs no count: status %d, on: %v: %s", r.StatusCode, on(), r.body)
	}
	if r := s.form("/retention/set", nil); r.StatusCode != http.StatusBadRequest || !strings.Contains(r.body, "there are no rules") {
		t.Errorf("status %d: %s", r.StatusCode, r.body)
	}
}
