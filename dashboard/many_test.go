package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/sqlite"
)

// status returns the status of an instance in the store.
func (w *world) status(id string) client.Status {
	w.t.Helper()
	d, err := w.client.Describe(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return d.Status
}

// items returns the outcomes of an act on several instances.
func (r reply) items(t *testing.T) []each {
	t.Helper()
	var v list[each]
	if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", r.StatusCode, err, r.body)
	}
	return v.Items
}

// Many starts are one request. Each has its outcome, and a repeat starts none again.
func TestStartMany(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleOperator)})
	in := object{"orchestration": "Reminder", "starts": []object{
		{"id": "reminder-x", "input": 3, "requestId": "r1"}, {"id": "order-1000", "input": 3, "requestId": "r2"}, {"input": 4},
	}}
	for range 2 {
		items := s.call("/instances/start-many", in).items(t)
		if len(items) != 3 || items[0].ID != "reminder-x" || items[0].Error != "" || items[1].Code != "exists" || items[2].Key == "" {
			t.Errorf("the outcomes are %+v", items)
		}
	}
	if n, err := w.client.Count(t.Context(), client.Filter{IDPrefix: "reminder-x"}); err != nil || n != 1 {
		t.Errorf("%d instances have the ID, %v", n, err)
	}
	for _, bad := range []any{"x", []object{}, []object{{"ID2": 1}}, []object{{"delay": "soon"}}, make([]object, maxStarts+1)} {
		if r := s.call("/instances/start-many", object{"orchestration": "Reminder", "starts": bad}); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: status %d: %s", bad, r.StatusCode, r.body)
		}
	}
	r := s.form("/instances/start-many", url.Values{"orchestration": {"Reminder"}, "starts": {`[{"id": "reminder-y", "input": 1}, {"id": "order-1000"}]`}})
	if !strings.Contains(r.body, "reminder-y") || !strings.Contains(r.body, "already") || w.status("reminder-y") != client.StatusRunning {
		t.Errorf("the page says %s", r.body)
	}
}

// An act on chosen instances is done on each, after they were shown. One that is gone or has ended stops no other.
func TestActOnChosen(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleOperator)})
	keys := []string{w.key("order-1006"), w.key("reminder-ann"), w.key("order-1000"), "01234567-0123-0123-0123-0123456789ab"}
	q := url.Values{"keys": keys}
	page := s.get("/instances/act?" + q.Encode())
	if page.StatusCode != http.StatusOK || !strings.Contains(page.body, "reminder-ann") || !strings.Contains(page.body, keys[1]) {
		t.Fatalf("the preview is %d: %s", page.StatusCode, page.body)
	}
	if w.status("order-1006") != client.StatusRunning {
		t.Error("the preview has acted")
	}
	r := s.form("/instances/act", url.Values{"keys": {strings.Join(keys, "\r\n")}, "act": {"suspend"}, "reason": {"stocktaking"}})
	if r.StatusCode != http.StatusOK || !strings.Contains(r.body, "has ended") || !strings.Contains(r.body, "not found") {
		t.Errorf("the page says %d: %s", r.StatusCode, r.body)
	}
	for _, id := range []string{"order-1006", "reminder-ann"} {
		if got := w.status(id); got != client.StatusSuspended {
			t.Errorf("%s is %v", id, got)
		}
	}
	items := s.call("/instances/act", object{"keys": append(keys[:2:2], keys[0]), "act": "resume"}).items(t)
	if len(items) != 2 || items[0].Error != "" || items[1].Error != "" || w.status("order-1006") != client.StatusRunning {
		t.Errorf("the outcomes are %+v", items)
	}
	audit, err := operate.New(w.client).Audit(t.Context(), operate.AuditFilter{Act: client.ActResume}, client.Page{})
	if err != nil || len(audit.Items) != 2 {
		t.Errorf("the audit has %d acts, %v", len(audit.Items), err)
	}
	for _, c := range []struct {
		name string
		in   object
		want int
	}{
		{"none", object{"keys": []string{}, "act": "suspend"}, http.StatusBadRequest},
		{"too many", object{"keys": manyKeys(maxChosen + 1), "act": "suspend"}, http.StatusBadRequest},
		{"no key", object{"keys": []string{"order-1006"}, "act": "suspend"}, http.StatusBadRequest},
		{"no act", object{"keys": keys[:1], "act": "query"}, http.StatusBadRequest},
		{"an act without what it needs", object{"keys": keys[:1], "act": "raise"}, http.StatusBadRequest},
		{"an act of admins", object{"keys": keys[:1], "act": "delete", "force": true}, http.StatusForbidden},
	} {
		if r := s.call("/instances/act", c.in); r.StatusCode != c.want {
			t.Errorf("%s: status %d: %s", c.name, r.StatusCode, r.body)
		}
	}
	if r := s.get("/instances/act"); r.StatusCode != http.StatusBadRequest {
		t.Errorf("nothing chosen: status %d", r.StatusCode)
	}
	if w.status("order-1006") != client.StatusRunning {
		t.Error("what was refused has happened")
	}
}

// manyKeys returns as many keys.
func manyKeys(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("01234567-0123-0123-0123-%012d", i))
	}
	return keys
}

// The outcome of an update is found by its ID: of one that goes on, of one that has completed, and of one that failed.
func TestUpdateByItsID(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleOperator)})
	path := "/api/v1/instances/" + w.key("order-1006") + "/update?payloads=show&id="
	if r := s.call("/instances/"+w.key("order-1006")+"/update", object{"update": "address", "input": "here", "requestId": "move-1"}); r.StatusCode != http.StatusOK {
		t.Fatalf("the update: %d: %s", r.StatusCode, r.body)
	}
	r := s.get(path + "move-1")
	if got := r.json(t); got["stage"] != "Completed" || got["output"] != "the address of the account" {
		t.Errorf("after it has completed: %s", r.body)
	}
	if r := s.get(path + "nobody"); r.json(t)["stage"] != "Unknown" {
		t.Errorf("an unknown ID: %s", r.body)
	}
	_ = s.call("/instances/"+w.key("order-1006")+"/update", object{"update": "unknown", "requestId": "bad-1"})
	if r := s.get(path + "bad-1"); r.StatusCode != http.StatusUnprocessableEntity || r.json(t)["code"] != "unknown-update" {
		t.Errorf("an update without a handler: %d: %s", r.StatusCode, r.body)
	}
	hidden := w.site(Options{Authorize: as(client.RoleAdmin), HidePayloads: true}).get(path + "move-1")
	if strings.Contains(hidden.body, "account") {
		t.Errorf("a hidden output is shown: %s", hidden.body)
	}
}

// A schedule's specification is changed by a program field by field, by a form as a whole, and its times can be seen before.
func TestChangeASchedule(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleOperator)})
	if r := s.call("/schedules/create", object{
		"id": "night", "orchestration": "Reminder", "input": 1, "crons": []string{"0 3 * * *"}, "zone": "Europe/Berlin", "every": []string{"36h+30s"}, "overlap": "allow-all",
		"maxRunning": 3, "catchUpWindow": "2h", "catchUpMax": 2, "paused": true, "at": []string{"2030-01-02T03:04:05Z"}, "jitter": "5s", "from": "2026-01-01T00:00:00Z",
	}); r.StatusCode != http.StatusNoContent {
		t.Fatalf("creating: %d: %s", r.StatusCode, r.body)
	}
	spec := func() client.ScheduleSpec {
		t.Helper()
		d, err := w.client.Schedule("night").Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d.Spec
	}
	until(t, func() bool { return s.get("/schedules/update?id=night").StatusCode == http.StatusOK })
	changed := spec()
	if len(changed.Every) != 1 || changed.Every[0].Offset != 30*time.Second || changed.CatchUp.Max != 2 || len(changed.At) != 1 {
		t.Errorf("it was made as %+v", changed)
	}
	if r := s.call("/schedules/update?id=night", object{"crons": []string{"0 4 * * *"}}); r.StatusCode != http.StatusNoContent {
		t.Errorf("changing one field: %d: %s", r.StatusCode, r.body)
	}
	changed.Crons = []string{"0 4 * * *"}
	if got, want := specInput(new(spec())), specInput(&changed); !equal(got, want) {
		t.Errorf("it is %v, want %v", got, want)
	}
	form := url.Values{}
	for name, value := range specInput(new(spec())) {
		form.Set(name, value)
	}
	form.Set("every", "")
	form.Set("crons", "0 5 * * *")
	form.Set("from", "")
	form.Set("preview", "true")
	form.Set("at", "")
	form.Set("zone", "")
	shown := s.form("/schedules/update?id=night", form)
	tomorrow := time.Now().UTC().Add(24*time.Hour).Format("2006-01-02") + " 05:00:00Z"
	if shown.StatusCode != http.StatusOK || !strings.Contains(shown.body, tomorrow) || spec().Crons[0] != "0 4 * * *" {
		t.Errorf("the preview: %d without %s: %s", shown.StatusCode, tomorrow, shown.body)
	}
	form.Del("preview")
	if r := s.form("/schedules/update?id=night", form); r.StatusCode != http.StatusSeeOther {
		t.Errorf("changing by a form: %d: %s", r.StatusCode, r.body)
	}
	if got := spec(); len(got.Every) != 0 || got.Crons[0] != "0 5 * * *" || !got.From.IsZero() || got.MaxRunning != 3 || got.Jitter != 5*time.Second {
		t.Errorf("it is %+v", got)
	}
	if r := s.get("/schedules/update?id=night"); !strings.Contains(r.body, "0 5 * * *") {
		t.Errorf("the form begins with %s", r.body)
	}
	next := s.get("/api/v1/schedules/next?crons=0+9+*+*+*&after=2026-01-02T09:00:00Z&n=2")
	if want := `{"items":["2026-01-03T09:00:00Z","2026-01-04T09:00:00Z"]}`; strings.TrimSpace(next.body) != want {
		t.Errorf("the next times are %s", next.body)
	}
	for _, bad := range []string{"", "crons=x", "crons=0+9+*+*+*&n=0x", "crons=0+9+*+*+*&n=1001", "every=soon", "at=soon", "jitter=x"} {
		if r := s.get("/api/v1/schedules/next?" + bad); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: status %d: %s", bad, r.StatusCode, r.body)
		}
	}
}

func equal(a, b input) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// until repeats a request that a node must have looked at something for.
func until(t *testing.T, done func() bool) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(10 * time.Second); !done(); <-again.C {
		if time.Now().After(end) {
			t.Fatal("it never succeeds")
		}
	}
}

// Retention is set, shown and run. Nothing given does not switch it off.
func TestRetention(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	if r := s.get("/retention"); !strings.Contains(r.body, "Retention is off") {
		t.Errorf("at first the page says %s", r.body)
	}
	if r := s.call("/retention/run", object{}); r.StatusCode != http.StatusNotFound {
		t.Errorf("a round without rules: %d", r.StatusCode)
	}
	r := s.call("/retention/set", object{"rules": []string{"Order:failed=forever", ":Failed=2160h", "Checkout=720h"}, "trim": "168h", "audit": "8760h", "rate": "50"})
	if r.StatusCode != http.StatusNoContent {
		t.Fatalf("setting: %d: %s", r.StatusCode, r.body)
	}
	check := func() {
		t.Helper()
		info, err := operate.New(w.client).Retention(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(info.Rules) != 3 || info.Rules[0].Age != orchestration.Off || info.Rules[0].Names[0] != "Order" || info.Rules[1].Statuses[0] != client.StatusFailed ||
			info.Trim == nil || info.Trim.Age != 168*time.Hour || info.Audit != 8760*time.Hour || info.Rate != 50 || info.SetBy != "ann" {
			t.Errorf("it is %+v", info)
		}
	}
	check()
	page := s.get("/retention")
	for _, text := range []string{"for ever", "90 days", "30 days", "7 days", "365 days", "ann"} {
		if !strings.Contains(page.body, text) {
			t.Errorf("the page lacks %q: %s", text, page.body)
		}
	}
	filled := s.get("/retention/set")
	if !strings.Contains(filled.body, "Order:Failed=forever\n:Failed=2160h\nCheckout=720h") {
		t.Errorf("the form begins with %s", filled.body)
	}
	for _, bad := range []object{
		{},
		{"rules": []string{"1h"}},
		{"rules": []string{"soon"}},
		{"rules": []string{"A:Gone=48h"}},
		{"trim": "1h"},
		{"rate": "x", "rules": []string{"48h"}},
		{"off": true, "rules": []string{"48h"}},
	} {
		if r := s.call("/retention/set", bad); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: status %d: %s", bad, r.StatusCode, r.body)
		}
	}
	check()
	if r := s.form("/retention/run", url.Values{"counted": {s.field("/retention/run", "counted")}}); r.StatusCode != http.StatusSeeOther {
		t.Errorf("a round: %d: %s", r.StatusCode, r.body)
	}
	until(t, func() bool { return s.get("/api/v1/retention").json(t)["rounds"] != "0" })
	if r := s.form("/retention/set", url.Values{"rules": {"48h"}, "off": {"true"}}); r.StatusCode != http.StatusSeeOther {
		t.Errorf("switching it off: %d: %s", r.StatusCode, r.body)
	}
	if info, err := operate.New(w.client).Retention(t.Context()); err != nil || info.On {
		t.Errorf("it is on: %v, %v", info.On, err)
	}
}

// newFile is a store in a file, without nodes.
func newFile(t *testing.T, path string) *world {
	t.Helper()
	store, err := sqlite.OpenWith(path, sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	c, err := client.New(store, client.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, c}
}

// Instances move from store to store over HTTP, and a damaged file frees nothing.
func TestExportAndImport(t *testing.T) {
	from, to := newFile(t, filepath.Join(t.TempDir(), "a.db")), newFile(t, filepath.Join(t.TempDir(), "b.db"))
	for _, id := range []string{"x-1", "x-2", "y-1"} {
		if _, err := client.StartNamed[any](t.Context(), from.client, "Order", "secret", client.WithID(id)); err != nil {
			t.Fatal(err)
		}
	}
	source, target := from.site(Options{Authorize: as(client.RoleAdmin)}), to.site(Options{Authorize: as(client.RoleAdmin)})
	if r := source.call("/export", object{"filter": "prefix=x-"}); r.StatusCode != http.StatusConflict || r.json(t)["code"] != "running" {
		t.Errorf("an export of running instances without seal: %d: %s", r.StatusCode, r.body)
	}
	file := source.call("/export", object{"filter": "prefix=x-", "seal": true})
	if file.StatusCode != http.StatusOK || file.Header.Get("Content-Type") != fileKind || file.Header.Get("Content-Disposition") == "" {
		t.Fatalf("the export: %d: %s", file.StatusCode, file.body)
	}
	if r := source.get("/api/v1/sealed"); !strings.Contains(r.body, "x-1") || strings.Contains(r.body, "y-1") {
		t.Errorf("sealed are %s", r.body)
	}
	send := func(body string) reply { return target.do(http.MethodPost, "/api/v1/import", fileKind, body) }
	if r := send(file.body[:len(file.body)-20]); r.StatusCode != http.StatusBadRequest || r.json(t)["code"] != "damaged-file" {
		t.Errorf("a file that was cut off: %d: %s", r.StatusCode, r.body)
	}
	r := send(file.body)
	if r.StatusCode != http.StatusOK || r.json(t)["instances"] != "2" {
		t.Fatalf("the import: %d: %s", r.StatusCode, r.body)
	}
	if to.status("x-2") != client.StatusRunning {
		t.Error("it does not run at the target")
	}
	if r := source.call("/instances/"+to.key("x-1")+"/cancel", object{}); r.StatusCode != http.StatusGone {
		t.Errorf("an act at the source: %d: %s", r.StatusCode, r.body)
	}
	if r := target.call("/unseal", object{}); r.StatusCode != http.StatusOK || r.json(t)["instances"] != "0" {
		t.Errorf("unsealing: %d: %s", r.StatusCode, r.body)
	}
	if r := target.do(http.MethodPost, "/api/v1/import", "application/json", "{}"); r.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("JSON as a file: %d: %s", r.StatusCode, r.body)
	}
}

// A backup over HTTP is a store. A dashboard that hides payloads gives away neither backups nor exports.
func TestBackupOverHTTP(t *testing.T) {
	w := newFile(t, filepath.Join(t.TempDir(), "a.db"))
	if _, err := client.StartNamed[any](t.Context(), w.client, "Order", "secret", client.WithID("x-1")); err != nil {
		t.Fatal(err)
	}
	r := w.site(Options{Authorize: as(client.RoleAdmin)}).call("/backup", object{})
	if r.StatusCode != http.StatusOK {
		t.Fatalf("the backup: %d: %s", r.StatusCode, r.body)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, []byte(r.body), 0o600); err != nil {
		t.Fatal(err)
	}
	if copied := newFile(t, path); copied.status("x-1") != client.StatusRunning {
		t.Error("the copy lacks the instance")
	}
	if r := w.site(Options{Authorize: as(client.RoleAdmin)}).call("/compact", object{}); r.StatusCode != http.StatusOK {
		t.Errorf("compacting: %d: %s", r.StatusCode, r.body)
	}
	hidden := w.site(Options{Authorize: as(client.RoleAdmin), HidePayloads: true})
	for _, path := range []string{"/backup", "/export"} {
		if r := hidden.call(path, object{}); r.StatusCode != http.StatusForbidden || strings.Contains(r.body, "secret") {
			t.Errorf("%s of a dashboard that hides payloads: %d", path, r.StatusCode)
		}
	}
}

// A transfer that fails after its first byte breaks off, so that nobody takes a part for the whole.
func TestDownloadBreaksOff(t *testing.T) {
	server, c := &server{logger: slog.New(slog.DiscardHandler)}, &call{}
	c.s, c.w, c.r = server, discard{}, new(http.Request)
	d := &download{c: c, name: "x"}
	if err := d.end(io.ErrUnexpectedEOF); err == nil {
		t.Error("an error before the first byte is none")
	}
	if _, err := d.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("the transfer ends as if it were whole")
		}
	}()
	_ = d.end(io.ErrUnexpectedEOF)
}

// discard is a response that nobody reads.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) WriteHeader(int)             {}
func (discard) Write(p []byte) (int, error) { return len(p), nil }
