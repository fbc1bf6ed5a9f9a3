package sqlite

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/provider"
)

// killedStore returns the files of a killed process, and the length of the log when each of its commits was acknowledged.
func killedStore(t *testing.T) (db, log []byte, lengths []int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	writes := startPeer(t, "log", path)
	for range 20 { // not enough to restart the log
		writes.send()
		lengths = append(lengths, writes.receive("stored"))
	}
	writes.send() // this one may be stored or not
	writes.kill()
	return readFile(t, path), readFile(t, path+"-wal"), lengths
}

// After a log lost its end, exactly the commits that are whole in the rest are left, each with all of its rows.
func TestCutLogKeepsWhatWasAcknowledgedBefore(t *testing.T) {
	db, log, lengths := killedStore(t)
	last := lengths[len(lengths)-1]
	garbage := bytes.Repeat([]byte("garbage "), 2000)
	flipped := bytes.Clone(log)
	flipped[lengths[9]+50] ^= 1 // in the first page of the 11th commit
	for _, c := range []struct {
		name string
		log  []byte
		end  int64 // up to where the log is unchanged
	}{
		{"whole", log, int64(len(log))},
		{"garbage behind", append(bytes.Clone(log[:last]), garbage...), last},
		{"cut to what was acknowledged", log[:last], last},
		{"last byte missing", log[:last-1], last - 1},
		{"last page missing", log[:last-4096-24], last - 4096 - 24},
		{"cut between two commits", log[:lengths[7]], lengths[7]},
		{"cut within a commit", log[:lengths[7]+4096+24], lengths[7] + 4096 + 24},
		{"garbage in the middle", append(append(bytes.Clone(log[:lengths[7]]), garbage...), log[lengths[7]+int64(len(garbage)):]...), lengths[7]},
		{"flipped byte", flipped, lengths[9]},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			writeFile(t, path, db)
			writeFile(t, path+"-wal", c.log)
			want := 0
			for want < len(lengths) && lengths[want] <= c.end {
				want++
			}
			p := openTest(t, path, Options{})
			got := wholeInstances(t, p)
			if got != want && (c.end <= last || got != want+1) { // one may have been stored but not yet acknowledged
				t.Errorf("%d instances are there: %d were acknowledged by then", got, want)
			}
			if err := createIn(t.Context(), p, "after"); err != nil {
				t.Error("writing on:", err)
			}
		})
	}
}

// wholeInstances counts the child's instances. None may lack rows, and none before another may be missing.
func wholeInstances(t *testing.T, p *Provider) int {
	t.Helper()
	req := fetchOf("x", newToken(), 0)
	req.Max = provider.MaxBatch
	res, err := p.FetchTurns(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	count, err := p.Count(t.Context(), provider.CountRequest{})
	if err != nil || count.Count != int64(len(res.Turns)) {
		t.Fatalf("%d instances, of which %d have work: %v", count.Count, len(res.Turns), err)
	}
	for i := range res.Turns {
		turn := &res.Turns[i]
		if turn.Instance.ID != fmt.Sprint("child-", i) || len(turn.Messages) != 1 || !bytes.Equal(turn.Messages[0].Payload, payload) {
			t.Errorf("instance %d is %q with %d messages", i, turn.Instance.ID, len(turn.Messages))
		}
	}
	return len(res.Turns)
}
