package postgres

import (
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// The server behind a name may be replaced by a copy or a backup, which has lost kinds and given their numbers again. A
// process that only starts instances uses the new numbers.
func TestKindsOfAnotherServer(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	client := opened(t, url+"&application_name="+schema, Options{Schema: schema})
	create(t, client, "first")
	listening(t, client)
	lost := opened(t, url, Options{Schema: schema})
	for _, sql := range []string{
		`DELETE FROM perdure.outcome`, `DELETE FROM perdure.inbox`, `DELETE FROM perdure.instance`, `TRUNCATE perdure.kind RESTART IDENTITY`,
	} {
		exec(t, lost, sql)
	}
	exec(t, lost, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`, schema)
	other := opened(t, url, Options{Schema: schema})
	invoice := createRequest("invoice")
	invoice.Name = "invoice"
	if _, err := other.Create(t.Context(), invoice); err != nil {
		t.Fatal(err)
	}
	var req provider.CreateRequest
	eventually(t, "an instance is started", func() bool {
		req = createRequest(unique().String())
		_, err := client.Create(t.Context(), req)
		return err == nil
	})
	if in := get(t, other, req.Key); in.Name != req.Name {
		t.Errorf("%s was started, %s is stored", req.Name, in.Name)
	}
}
