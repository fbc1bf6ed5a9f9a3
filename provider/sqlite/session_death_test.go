//go:build unix

package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// The sessions of a dead process become free like its leases, though no task of them was leased.
func TestHazard24_SessionsOfADeadProcessEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	holder := startPeer(t, "hold", path)
	create(t, p, "one", "x")
	holder.send()
	if n := holder.receive("leased"); n != 1 {
		t.Fatalf("the peer leased %d", n)
	}
	addSessions(t, p, "s")
	_, err := write(t.Context(), p.handle, "hold", 0, func(x *tx, _ *struct{}) error {
		return x.claimSession("s", provider.UUID{1}, &provider.FetchTasksRequest{
			Owner: "node of the dead", Sessions: provider.SessionClaim{Max: 1, Lease: time.Hour, Idle: time.Hour},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	req := sessionFetch("survivor", time.Minute)
	if res, err := p.FetchTasks(t.Context(), req); err != nil || len(res.Tasks) != 0 {
		t.Fatal("the session of a living owner is taken:", res, err)
	}
	holder.kill()
	req.Wait = 30 * time.Second
	res, err := p.FetchTasks(t.Context(), req)
	if err != nil || len(res.Tasks) != 1 {
		t.Fatal("the session of the dead is held on:", res, err)
	}
}
