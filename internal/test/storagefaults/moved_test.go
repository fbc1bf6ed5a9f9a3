package storagefaults

import (
	"os"
	"strings"
	"testing"

	"github.com/perdure/perdure/provider"
)

// The file is moved away while an engine uses it. The engine reports that to every caller, writes nothing to the moved
// file, and continues when the file is back.
func TestFileTakenAwayAndPutBack(t *testing.T) {
	path := newFile(t)
	e := engineOn(t, path)
	rt := e.Start(orders(t))
	var keys []provider.UUID
	for range 2 {
		for range 20 {
			keys = append(keys, order(e, len(keys)))
		}
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		var err error
		e.Until("the loss to be seen", func() bool {
			_, err = e.Store.Stats(t.Context(), provider.StatsRequest{})
			return err != nil
		})
		if !strings.Contains(err.Error(), "removed or replaced") || !provider.Retryable(err) {
			t.Errorf("error %v: want one that says what happened to the file", err)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
		e.Until("the return to be seen", func() bool {
			_, err = e.Store.Stats(t.Context(), provider.StatsRequest{})
			return err == nil
		})
	}
	checkOrders(e, keys)
	if s := rt.Stats(); s.TurnsFailed != 0 || s.AttemptsFailed != 0 {
		t.Errorf("%+v", s)
	}
}
