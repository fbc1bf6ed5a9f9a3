package sqlite

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

func inspect(t *testing.T, i provider.Inspector, kind provider.InspectKind) provider.InspectResult {
	t.Helper()
	res, err := i.Inspect(t.Context(), provider.InspectRequest{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Rows that cannot be read are reported with their key, and hide no others.
func TestInspectTellsOfUnreadableRows(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	var list []provider.Instance
	for _, id := range []string{"a", "b", "c"} {
		list = append(list, create(t, p, id, "x"))
	}
	corrupt(t, p, `UPDATE perdure_instance SET version = X'0102' WHERE key = ?`, list[0].Key)
	corrupt(t, p, `UPDATE perdure_instance SET kind = 99 WHERE key = ?`, list[1].Key)
	res := inspect(t, p, provider.InspectInstances)
	if len(res.Instances) != 1 || res.Instances[0].ID != "c" || len(res.Faults) != 2 {
		t.Fatalf("instances %+v, faults %+v: want c, and two faults", res.Instances, res.Faults)
	}
	for i, f := range res.Faults {
		if f.Key != list[i].Key || !strings.Contains(f.Reason, "unreadable row") {
			t.Errorf("fault %+v, want one of %s", f, list[i].ID)
		}
	}
	corrupt(t, p, `UPDATE perdure_inbox SET key = X'0102' WHERE key = ?`, list[2].Key)
	paged, cursor := 0, ""
	for range 9 {
		page, err := p.Inspect(t.Context(), provider.InspectRequest{Kind: provider.InspectMessages, Max: 1, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		paged += len(page.Messages) + len(page.Faults)
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if paged != 3 {
		t.Errorf("pages show %d messages, want all 3", paged)
	}
	if _, err := p.Inspect(t.Context(), provider.InspectRequest{Kind: 1, Cursor: "?"}); !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("a cursor of nobody: %v", err)
	}
}

// A lease shows its owner as gone once the owner's process is gone, and not before.
func TestInspectTellsThatAnOwnerIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	create(t, p, "one", "x")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	cmd, lines := start(t, "lease", path)
	if !lines.Scan() || lines.Text() != "leased 1" {
		t.Fatal("the child leased nothing:", lines.Text())
	}
	v := openTest(t, path, Options{ReadOnly: true})
	lease := func() provider.LeaseRow {
		t.Helper()
		list := inspect(t, v, provider.InspectTurnLeases).TurnLeases
		if len(list) != 1 {
			t.Fatalf("%d leases, want 1", len(list))
		}
		return list[0].Lease
	}
	if l := lease(); l.OwnerGone || l.Over || l.Owner == "" || l.Until <= provider.TimeOf(time.Now()) {
		t.Errorf("lease %+v, want one that holds", l)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child was not killed")
	}
	before := readFile(t, path)
	if l := lease(); !l.OwnerGone || l.Over {
		t.Errorf("lease %+v, want one of a dead owner that nobody has ended", l)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(before, readFile(t, path)) {
		t.Error("the reader has folded the log of the dead process into the file")
	}
}

// After a reboot no lease holds, whatever the restarted clock reads.
func TestInspectAfterAReboot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	if p.store.clock.boot() == "" {
		t.Skip("this system does not tell its boots apart")
	}
	create(t, p, "one", "x")
	if res, err := p.FetchTurns(t.Context(), fetchOf("x", newToken(), time.Minute)); err != nil || len(res.Turns) != 1 {
		t.Fatal(res, err)
	}
	corrupt(t, p, `UPDATE perdure_meta SET value = 'another' WHERE name = 'boot'`)
	if list := inspect(t, p, provider.InspectTurnLeases).TurnLeases; len(list) != 1 || !list[0].Lease.Over || !list[0].Lease.OwnerGone {
		t.Errorf("leases %+v, want one that is over", list)
	}
}

// A reader shows what is stored, and neither changes the file nor does a writer's work.
func TestReaderOnlyLooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	in := create(t, p, "one", "x")
	if res, err := p.FetchTurns(t.Context(), fetchOf("x", newToken(), time.Minute)); err != nil || len(res.Turns) != 1 {
		t.Fatal(res, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	before := readFile(t, path)
	v := openTest(t, path, Options{ReadOnly: true})
	if l := inspect(t, v, provider.InspectTurnLeases).TurnLeases; len(l) != 1 || l[0].Lease.Over {
		t.Errorf("leases %+v, want the one that was left", l)
	}
	got, err := v.Get(t.Context(), provider.GetRequest{ID: "one", WaitEnded: true, Wait: time.Millisecond})
	if err != nil || got.Instance.Key != in.Key {
		t.Errorf("got %+v, %v", got, err)
	}
	list, err := v.List(t.Context(), provider.ListRequest{})
	if err != nil || len(list.Instances) != 1 {
		t.Errorf("list %+v, %v", list, err)
	}
	if _, err := v.ReadHistory(t.Context(), provider.ReadHistoryRequest{Key: in.Key, From: 1}); err != nil {
		t.Error(err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	if _, err := v.Get(t.Context(), provider.GetRequest{ID: "one"}); !errors.Is(err, provider.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if !bytes.Equal(before, readFile(t, path)) {
		t.Error("the file has changed")
	}
}
