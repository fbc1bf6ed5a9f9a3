package main

import (
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// restartedCluster is a Postgres server that is restarted while processes use it.
type restartedCluster struct {
	*postgrestest.Cluster

	restarts int
}

// Four workers on one Postgres database are killed and suspended like those on a file. The server is restarted
// meanwhile in immediate mode, which aborts every transaction.
func TestKilledWorkersAndPostgresLoseNothing(t *testing.T) {
	longtest.Skip(t)
	t.Parallel() // it mostly waits for moments and leases
	cluster := &restartedCluster{Cluster: postgrestest.New(t)}
	db, err := databaseOf(cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	k := newKilling(t, db)
	k.cluster, k.brief = cluster, *killFor == 0
	k.run(4, 10, 750) // many more in make soak
	t.Logf("%d restarts of Postgres in immediate mode", cluster.restarts)
}

// restart restarts the server, if there is one. A worker that opens the store would rightly give up, so all workers
// are ready before it.
func (k *killing) restart() {
	k.t.Helper()
	if k.cluster == nil {
		return
	}
	for i := range k.workers {
		k.ready(i)
	}
	k.cluster.Stop(k.t, syscall.SIGQUIT)
	k.pass(k.moment(0, 500))
	k.cluster.Start(k.t)
	k.cluster.restarts++
}
