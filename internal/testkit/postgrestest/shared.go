package postgrestest

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// shared is the server of this process.
//
//nolint:gochecknoglobals // one server for all tests of a process
var shared struct {
	once    sync.Once
	url     string
	err     error
	cluster *Cluster
}

// Stop removes the shared cluster. Pass it to leaktest.Main.
func Stop() {
	if shared.cluster == nil {
		return
	}
	if err := shared.cluster.remove(); err != nil {
		panic(fmt.Sprintf("postgrestest: %v", err))
	}
}

// URL returns the connection string of the shared server.
func URL(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		if shared.url = os.Getenv("PERDURE_TEST_POSTGRES_URL"); shared.url != "" {
			return
		}
		if shared.cluster, shared.err = newCluster("", (*Cluster).initdb, nil); shared.err == nil {
			shared.url = shared.cluster.URL()
		}
	})
	if errors.Is(shared.err, errMissing) {
		missing(t, shared.err)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.url
}

var schemas atomic.Int64 //nolint:gochecknoglobals // numbers the schemas of this process

// Schema returns a schema name that no other test uses. The schema is dropped at the end of the test, on the server
// that url names. On the shared cluster it stays: the cluster goes, and dropping takes as long as a small test.
func Schema(t testing.TB, url string) string {
	t.Helper()
	name := fmt.Sprintf("perdure_test_%d_%d", os.Getpid(), schemas.Add(1))
	t.Cleanup(func() {
		if shared.cluster != nil && url == shared.url {
			return
		}
		Exec(t, url, "DROP SCHEMA IF EXISTS "+pgx.Identifier{name}.Sanitize()+" CASCADE")
	})
	return name
}
