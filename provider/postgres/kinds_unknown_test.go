package postgres

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// deafPair opens a store and a second handle of it that gets no notices.
func deafPair(t *testing.T) (first, deaf *Provider) {
	t.Helper()
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	first = opened(t, url, Options{Schema: schema})
	return first, opened(t, url, Options{Schema: schema, Pooler: true, Logger: slog.New(slog.DiscardHandler)})
}

// createNamed creates an instance of a new name.
func createNamed(t *testing.T, p *Provider) provider.Instance {
	t.Helper()
	req := createRequest(unique().String())
	req.Name = "new " + req.ID
	res, err := p.Create(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res.Instance
}

// A message that raises the engine level keeps the name of its instance, although the process does not know that name.
func TestUnknownNameIsKept(t *testing.T) {
	first, deaf := deafPair(t)
	in := createNamed(t, first)
	m := provider.NewMessage{Payload: []byte("m"), EngineLevel: 7}
	if _, err := deaf.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: m}); err != nil {
		t.Fatal(err)
	}
	if got := get(t, first, in.Key); got.Name != in.Name || got.EngineLevel != 7 {
		t.Errorf("got name %q at level %d, want %q at 7", got.Name, got.EngineLevel, in.Name)
	}
}

// A fetch that finds nothing has read the names that other processes have stored.
func TestFetchReadsUnknownNames(t *testing.T) {
	first, deaf := deafPair(t)
	in := createNamed(t, first)
	res, err := deaf.FetchTurns(t.Context(), provider.FetchTurnsRequest{
		Owner: "n", Token: unique(), Lease: time.Minute, EngineLevel: 10, Max: 1,
		Capabilities: []provider.Capability{{Name: in.Name, CodeVersion: in.CodeVersion}},
	})
	if err != nil || len(res.Turns) != 1 {
		t.Errorf("got %d turns and error %v, want 1", len(res.Turns), err)
	}
}

// A process that has to store or read many kinds for one call gives none up.
func TestManyUnknownKindsInOneCall(t *testing.T) {
	first, deaf := deafPair(t)
	in := createNamed(t, first)
	req := provider.CommitTurnRequest{Key: in.Key, Execution: 1, Expected: in.Version, Commit: unique(), Status: provider.StatusRunning}
	for n := range int64(maxTries + 5) {
		req.Tasks = append(req.Tasks, provider.NewTask{EventID: n + 1, Queue: fmt.Sprint("queue ", n), Name: "a"})
	}
	if _, err := deaf.CommitTurn(t.Context(), req); err != nil {
		t.Error(err)
	}
}

// Nothing stores an empty name, not even for an instance that has lost its own.
func TestLostNameIsNotStoredAgain(t *testing.T) {
	first, deaf := deafPair(t)
	in := createNamed(t, first)
	exec(t, first, `INSERT INTO perdure.kind (name, code_version, engine_level) VALUES ('', '', 1)`)
	exec(t, first, `UPDATE perdure.instance SET kind = (SELECT id FROM perdure.kind WHERE name = '')`)
	m := provider.NewMessage{Payload: []byte("m"), EngineLevel: 7}
	_, err := deaf.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: m})
	if err == nil || !strings.Contains(err.Error(), "perdure doctor --repair") {
		t.Errorf("got error %v, want one that names the repair", err)
	}
}
