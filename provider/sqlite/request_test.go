package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/provider"
)

// A start that is repeated after the process was gone delivers nothing again, and its record goes with the instance.
func TestRepeatedStartDeliversOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	first := provider.CreateRequest{ID: "i", Key: newKey(), Commit: newToken(), Name: "o", RequestID: "first"}
	second := provider.CreateRequest{
		ID: "i", Key: newKey(), Commit: newToken(), Name: "o", RequestID: "second", Policy: provider.IDUseExisting,
		Messages: []provider.NewMessage{{Payload: []byte("m")}},
	}
	for range 3 {
		p, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Create(t.Context(), first); err != nil {
			t.Error(err)
		}
		res, err := p.Create(t.Context(), second)
		if err != nil || res.Instance.InboxMessages != 2 {
			t.Errorf("got %d messages, error %v, want 2 and none", res.Instance.InboxMessages, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	p := openTest(t, path, Options{})
	if _, err := p.Delete(t.Context(), provider.DeleteRequest{ID: "i", Force: true}); err != nil {
		t.Error(err)
	}
	var left int64
	err := p.read(t.Context(), "count", func(c *conn) (err error) {
		left, err = c.integer(t.Context(), `SELECT count(*) FROM perdure_request`)
		return err
	})
	if err != nil || left != 0 {
		t.Errorf("%d requests of a deleted instance are left, error %v, want none", left, err)
	}
}
