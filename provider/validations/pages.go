package validations

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/provider"
)

// The cases of this file page while others write. Rows that stay unchanged appear once and in order.

func readPageRaces() []testCase {
	return []testCase{
		{
			name: "list-while-others-write", run: pagesOfInstances,
			rule: "A page continues after Cursor, so that instances created or ended between two pages neither repeat nor hide others.",
		},
		{
			name: "history-while-it-grows", run: pagesOfHistory,
			rule: "ReadHistory returns events From to To of one execution in order, as many as fit MaxBytes, but at least one if there is one.",
		},
	}
}

func cleanPageRaces() []testCase {
	return []testCase{
		{
			name: "letters-while-others-write", run: pagesOfLetters,
			rule: "DeadLetters lists items that could not be delivered or processed, puts them back where they came from (redrive) or discards them.",
		},
	}
}

func sharedPageRaces() []testCase {
	return []testCase{
		{name: "scan-while-others-write", run: pagesOfRecords, rule: "Record reads, writes, deletes or scans versioned records."},
	}
}

// whileWriting pages through unchanged rows repeatedly until the writers have made all their changes.
func whileWriting(t *trial, writers, changes int, write func(writer, n int), page func()) {
	left := make(chan struct{}, writers)
	t.parallel(writers+1, func(who int) {
		if who < writers {
			defer func() { left <- struct{}{} }()
			for n := range changes {
				write(who, n)
			}
			return
		}
		for len(left) < writers && t.ctx.Err() == nil {
			page()
			t.pass(time.Microsecond)
		}
		page()
	})
}

func pagesOfInstances(t *trial) {
	still := map[string]bool{}
	for n := range 9 {
		id := fmt.Sprint("still", n)
		still[id] = true
		t.create(id)
		t.create(fmt.Sprint("moving", n))
	}
	whileWriting(t, 2, 9, func(writer, n int) {
		if writer == 0 {
			t.steer(t.byID(fmt.Sprint("moving", n)).Key, provider.SteerTerminate)
			return
		}
		t.remove(t.create(fmt.Sprint("new", n)).Key, true)
	}, func() {
		seen := map[string]int{}
		for _, i := range listPages(t, provider.Filter{}, 4, func() {}) {
			seen[i.ID]++
		}
		for id, n := range seen {
			t.checkf(n == 1, "%s was listed %d times, want 1", id, n)
		}
		for id := range still {
			t.checkf(seen[id] == 1, "%s is missing from the pages", id)
		}
	})
}

func pagesOfHistory(t *trial) {
	i := t.begin("i")
	whileWriting(t, 1, 40, func(_, n int) {
		req := next(i, fmt.Sprint("a", n), fmt.Sprint("b", n))
		t.commit(req)
		i.Version, i.HistoryLength = req.Commit, i.HistoryLength+2
	}, func() {
		from := int64(1)
		for {
			res, err := t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: i.Key, From: from, MaxBytes: 12})
			t.ok(err)
			for _, e := range res.Events {
				t.mustf(e.ID == from, "got event %d after event %d, want %d", e.ID, from-1, from)
				from++
			}
			t.mustf(res.Length >= from-1 && res.Length%2 == 1, "got %d events of a history of length %d, want whole commits of two events", from-1, res.Length)
			if !res.More {
				t.mustf(from == res.Length+1, "the last page ends at event %d of %d, want the end", from-1, res.Length)
				return
			}
		}
	})
}

func pagesOfLetters(t *trial) {
	leaveDeadLetters(t, 12)
	still := map[int64]bool{}
	all := t.letters()
	for n, l := range all {
		if n%2 == 0 {
			still[l.ID] = true
		}
	}
	i := t.begin("more")
	whileWriting(t, 1, 6, func(_, n int) {
		actOnLetters(t, provider.DeadLettersDiscard, all[2*n+1].ID)
		t.send(i.Key, text("m"))
		t.steer(i.Key, provider.SteerTerminate)
		t.steer(i.Key, provider.SteerReset, resetTo("again"))
	}, func() {
		seen, cursor := 0, int64(0)
		for {
			res, err := t.DeadLetters(t.ctx, provider.DeadLettersRequest{Cursor: cursor, Max: 3})
			t.ok(err)
			if len(res.Letters) == 0 {
				t.checkf(seen == len(still), "got %d of the letters that stay, want %d", seen, len(still))
				return
			}
			for _, l := range res.Letters {
				t.mustf(l.ID > cursor, "got letter %d after %d, want rising IDs", l.ID, cursor)
				cursor = l.ID
				if still[l.ID] {
					seen++
				}
			}
		}
	})
}

func pagesOfRecords(t *trial) {
	want := make([]string, 0, 10)
	for n := range cap(want) {
		want = append(want, fmt.Sprintf("key%d-still", n))
		t.record(put(want[n], "v", 0))
	}
	whileWriting(t, 2, 10, func(writer, n int) {
		key := fmt.Sprintf("key%d-moving%d", n, writer)
		t.record(put(key, "v", 0))
		t.record(provider.RecordRequest{Action: provider.RecordDelete, Namespace: "n", Key: key, Expect: 1})
	}, func() {
		var got []string
		for after := ""; ; {
			list := t.record(provider.RecordRequest{Action: provider.RecordScan, Namespace: "n", Prefix: "key", Key: after, Max: 3})
			if len(list) == 0 {
				break
			}
			for _, r := range list {
				t.mustf(r.Key > after, "got record %s after %s, want rising keys", r.Key, after)
				after = r.Key
				got = append(got, r.Key)
			}
		}
		got = slices.DeleteFunc(got, func(key string) bool { return !strings.HasSuffix(key, "still") })
		t.checkf(slices.Equal(got, want), "got %q of the records that stay, want all of them", got)
	})
}
