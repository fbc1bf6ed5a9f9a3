package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// crowded is the size of the largest page plus one.
const crowded = provider.MaxPage + 1

// beginManyChildren commits the start of more children than fit a page.
func beginManyChildren(t *trial) {
	i := t.begin("parent")
	req := next(i)
	for n := range crowded {
		req.Starts = append(req.Starts, startOf(i, fmt.Sprintf("child-%04d", n)))
	}
	t.commit(req)
}

func listDefault(t *trial) {
	beginManyChildren(t)
	filter := provider.Filter{IDPrefix: "child-"}
	first, err := t.List(t.ctx, provider.ListRequest{Filter: filter})
	t.ok(err)
	t.mustf(len(first.Instances) == provider.MaxPage && first.Cursor != "",
		"%d rows, cursor %q, want %d and a cursor", len(first.Instances), first.Cursor, provider.MaxPage)
	rest, err := t.List(t.ctx, provider.ListRequest{Filter: filter, Cursor: first.Cursor})
	t.ok(err)
	t.checkf(len(rest.Instances) == 1 && rest.Cursor == "", "%d rows after the first page, cursor %q, want 1 and no cursor", len(rest.Instances), rest.Cursor)
	_, err = t.List(t.ctx, provider.ListRequest{Max: crowded})
	t.want(err, provider.ErrTooLarge)
}

func inspectDefault(t *trial) {
	beginManyChildren(t)
	first := inspect(t, provider.InspectInstances)
	t.mustf(len(first.Instances) == provider.MaxPage && first.Cursor != "",
		"%d rows, cursor %q, want %d and a cursor", len(first.Instances), first.Cursor, provider.MaxPage)
	rest := inspect(t, provider.InspectInstances, func(r *provider.InspectRequest) { r.Cursor = first.Cursor })
	t.checkf(len(rest.Instances) == 2 && rest.Cursor == "", "%d rows after the first page, want 2: the parent and a child", len(rest.Instances))
}

func lettersDefault(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		for range crowded {
			r.Sends = append(r.Sends, provider.OutMessage{Key: r.Key, Message: text("m")})
		}
	})
	t.end(i)
	list := t.letters()
	t.mustf(len(list) == provider.MaxPage, "%d dead letters in a page, want %d", len(list), provider.MaxPage)
	res, err := t.DeadLetters(t.ctx, provider.DeadLettersRequest{Cursor: list[len(list)-1].ID})
	t.ok(err)
	t.checkf(len(res.Letters) == 1, "%d dead letters after the first page, want 1", len(res.Letters))
}

func scanDefault(t *trial) {
	t.parallel(20, func(n int) {
		for k := n; k < crowded; k += 20 {
			t.record(put(fmt.Sprintf("k%04d", k), "v", 0))
		}
	})
	scan := provider.RecordRequest{Action: provider.RecordScan, Namespace: "n"}
	list := t.record(scan)
	t.mustf(len(list) == provider.MaxPage, "%d records in a page, want %d", len(list), provider.MaxPage)
	scan.Key = list[len(list)-1].Key
	list = t.record(scan)
	t.checkf(len(list) == 1 && list[0].Key == fmt.Sprintf("k%04d", crowded-1), "%d records after the first page, want the last one", len(list))
}

// pruneDefault ends instances without a parent, so that each is a tree of its own.
func pruneDefault(t *trial) {
	t.parallel(20, func(n int) {
		for k := n; k < crowded; k += 20 {
			i := t.create(fmt.Sprintf("i%04d", k))
			t.steer(i.Key, provider.SteerTerminate)
		}
	})
	t.pass(short)
	is(t, "instances pruned", prune(t, provider.PruneRequest{}), 1000)
	is(t, "instances pruned by the second call", prune(t, provider.PruneRequest{}), 1)
}

func historyDefault(t *trial) {
	i := t.begin("i")
	large := make([]byte, provider.MaxFetchBytes/2)
	req := next(i)
	req.Events = [][]byte{large, large, large}
	t.commit(req)
	ids, res := readHistory(t, provider.ReadHistoryRequest{Key: i.Key, From: 2})
	t.checkf(ids == "23" && res.More, "got events %q of %d bytes each, more %v, want 2 and 3, and more", ids, len(large), res.More)
	_, err := t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: i.Key, From: 1, MaxBytes: provider.MaxFetchBytes + 1})
	t.want(err, provider.ErrTooLarge)
}

func fetchManyMessages(t *trial) {
	t.begin("i", func(r *provider.CommitTurnRequest) {
		for range provider.MaxFetchMessages + 1 {
			r.Sends = append(r.Sends, provider.OutMessage{Key: r.Key})
		}
	})
	u := t.fetchOne(named("i"))
	t.checkf(len(u.Messages) == provider.MaxFetchMessages && u.More, "got %d messages, more %v, want the maximum and more", len(u.Messages), u.More)
	t.commit(commitOf(u))
	u = t.fetchOne(named("i"))
	t.checkf(len(u.Messages) == 1 && !u.More, "got %d messages, more %v, want 1 and no more", len(u.Messages), u.More)
}
