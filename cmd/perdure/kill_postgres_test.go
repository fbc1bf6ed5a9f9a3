package main

import (
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// restartedCluster is a Postgres that is restarted under those who work on it.
type restartedCluster struct {
	*postgrestest.Cluster

	restarts int
}

// Four workers on one Postgres are killed and stopped like those on a file, and the server is restarted under all of
// them in immediate mode, which ends every transaction where it stands.
func TestKilledWorkersAndPostgresLoseNothing(t *testing.T) {
	kills, plans := 20, 1_500
	if testing.Short() {
		kills, plans = 5, 48
	}
	cluster := &restartedCluster{Cluster: postgrestest.New(t)}
	db, err := databaseOf(cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	k := newKilling(t, db)
	k.cluster, k.brief = cluster, *killFor == 0
	k.run(4, kills, plans)
	t.Logf("%d restarts of Postgres in immediate mode", cluster.restarts)
}

// restart lets the server, if there is one, be away for a moment. A worker that is just opening the store would rightly give up, so
// all have done that before.
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
