package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// A role that runs the store needs no right to create. A role with more rights migrates and grants.
func TestLeastPrivilege(t *testing.T) {
	longtest.Skip(t)
	cluster := postgrestest.New(t)
	owner := opened(t, cluster.URL(), Options{Schema: "mine"})
	exec(t, owner, `CREATE ROLE worker LOGIN`)
	exec(t, owner, `REVOKE CREATE ON DATABASE postgres FROM PUBLIC`)
	url := fmt.Sprintf("postgres://worker@127.0.0.1:%d/postgres?sslmode=disable", cluster.Port())
	if _, err := OpenWith(t.Context(), url, Options{Schema: "mine", Logger: silent}); err == nil || !strings.Contains(err.Error(), "Grants") {
		t.Errorf("without any right: %v", err)
	}
	for _, grant := range Grants("mine", "worker") {
		exec(t, owner, grant)
	}
	for _, o := range []Options{{Schema: "mine", NoMigrate: true}, {Schema: "mine"}} {
		everyCall(t, opened(t, url, o))
	}
	if _, err := owner.db.pool.Exec(t.Context(), `SET ROLE worker; CREATE TABLE mine.x (i int)`); err == nil {
		t.Error("the role may create tables")
	}
}

// everyCall makes the calls that touch each table.
func everyCall(t *testing.T, p *Provider) {
	t.Helper()
	id := unique().String()
	create(t, p, id)
	req := turnsRequest()
	turns := fetchTurns(t, p, req)
	if len(turns) != 1 {
		t.Fatalf("fetched %d turns", len(turns))
	}
	c := turn(&turns[0].Instance, 1)
	c.Lease, c.Events, c.CustomStatus = req.Token, [][]byte{[]byte("e")}, []byte("s")
	c.Values = []provider.KeyValue{{Key: "k", Value: []byte("v")}}
	c.Attributes = []provider.Attribute{{Name: id, Kind: provider.AttributeInt, Number: 1}}
	c.Tasks = []provider.NewTask{{EventID: 1, Queue: "q", Name: unique().String()}}
	commit(t, p, c)
	send(t, p, c.Key, text("m"))
	notice := text("n")
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := p.FetchTasks(t.Context(), tasksRequest())
	check("fetch tasks", err)
	_, err = p.Steer(t.Context(), provider.SteerRequest{Key: c.Key, Commit: unique(), Action: provider.SteerTerminate, Event: []byte("e"), ParentNotice: &notice})
	check("terminate", err)
	_, err = p.Lease(t.Context(), provider.LeaseRequest{Action: provider.LeaseAcquire, Name: id, Owner: "o", Token: unique(), Duration: lease})
	check("lease", err)
	_, err = p.Record(t.Context(), provider.RecordRequest{Action: provider.RecordPut, Namespace: "n", Key: id})
	check("record", err)
	_, err = p.FetchAsks(t.Context(), provider.FetchAsksRequest{Capabilities: orc, Max: 1, Lease: lease})
	check("asks", err)
	_, err = p.List(t.Context(), provider.ListRequest{})
	check("list", err)
	_, err = p.Stats(t.Context(), provider.StatsRequest{})
	check("stats", err)
	_, err = p.Migrations(t.Context())
	check("migrations", err)
	p.janitor.sweep()
	_, err = p.Delete(t.Context(), provider.DeleteRequest{Key: c.Key})
	check("delete", err)
}
