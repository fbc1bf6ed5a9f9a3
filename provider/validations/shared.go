package validations

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

func sharedCases() []testCase {
	const lease = "Lease acquires, renews or releases a named lease."
	const held = "Acquiring a lease that another token holds unexpired returns [ErrLeaseLost] with the holder in the result."
	const expects = "A write or delete names the version that it expects, 0 if the record must not exist. A mismatch returns [ErrConflict]."
	return []testCase{
		{name: "lease-acquire", run: leaseAcquire, rule: held},
		{name: "lease-renew", run: leaseRenew, rule: "LeaseAcquire: also renews, when Token holds it"},
		{name: "lease-release", run: leaseRelease, rule: lease},
		{name: "lease-expires", run: leaseExpires, rule: held},
		{name: "lease-race", run: leaseRace, rule: held},
		{name: "record-put-and-get", run: recordPut, rule: "Record.Version: from 1, raised by each Put"},
		{name: "record-unknown", run: recordUnknown, rule: "A Get of a record that does not exist returns [ErrNotFound]."},
		{name: "record-expect", run: recordExpect, rule: expects},
		{name: "record-delete", run: recordDelete, rule: expects},
		{name: "record-race", run: recordRace, rule: expects},
		{name: "record-scan", run: recordScan, rule: "RecordResult has the record that was read, written or deleted, or the scanned ones by key."},
		{name: "record-default-page", run: scanDefault, rule: "RecordRequest.Max: Scan: 1 to MaxPage; 0: MaxPage"},
	}
}

func leaseAcquire(t *trial) {
	got := callLease(t, acquire("a"))
	t.checkf(got.Owner == "a" && got.Until >= got.Now.Add(long), "got %+v, want owner a and the full length", got)
	res, err := t.Lease(t.ctx, acquire("b"))
	t.want(err, provider.ErrLeaseLost)
	t.checkf(res.Owner == "a" && res.Until == got.Until, "the holder is %+v, want %+v", res, got)
	other := acquire("b")
	other.Name = "other"
	callLease(t, other)
}

func leaseRenew(t *trial) {
	req := acquire("a")
	first := callLease(t, req)
	req.Duration = 2 * long
	second := callLease(t, req)
	t.checkf(second.Owner == "a" && second.Until > first.Until, "leased until %d, want later than %d, for the same owner", second.Until, first.Until)
}

func leaseRelease(t *trial) {
	req := acquire("a")
	callLease(t, req)
	thief := acquire("b")
	thief.Action = provider.LeaseRelease
	_, err := t.Lease(t.ctx, thief)
	t.want(err, provider.ErrLeaseLost)
	req.Action = provider.LeaseRelease
	res := callLease(t, req)
	t.checkf(res.Owner == "", "held by %q after the release, want no holder", res.Owner)
	callLease(t, acquire("b"))
}

func leaseExpires(t *trial) {
	req := acquire("a")
	req.Duration = short
	callLease(t, req)
	t.pass(2 * short)
	callLease(t, acquire("b"))
	_, err := t.Lease(t.ctx, req)
	t.want(err, provider.ErrLeaseLost)
}

func leaseRace(t *trial) {
	var won atomic.Int64
	t.parallel(8, func(n int) {
		_, err := t.Lease(t.ctx, acquire(fmt.Sprint(n)))
		if err == nil {
			won.Add(1)
			return
		}
		t.want(err, provider.ErrLeaseLost)
	})
	t.checkf(won.Load() == 1, "%d owners hold the lease, want 1", won.Load())
}

func recordPut(t *trial) {
	wrote := t.record(put("k", "one", 0))
	t.mustf(len(wrote) == 1 && wrote[0].Version == 1 && string(wrote[0].Value) == "one", "wrote %+v, want version 1 with the value", wrote)
	wrote = t.record(put("k", "two", 1))
	t.mustf(len(wrote) == 1 && wrote[0].Version == 2, "wrote %+v, want version 2", wrote)
	got := t.record(provider.RecordRequest{Action: provider.RecordGet, Namespace: "n", Key: "k"})
	t.checkf(len(got) == 1 && got[0].Key == "k" && string(got[0].Value) == "two" && got[0].Version == 2 && got[0].UpdatedAt > 0,
		"got %+v, want version 2 with its value, key and time", got)
}

func recordUnknown(t *trial) {
	t.record(put("k", "one", 0))
	_, err := t.Record(t.ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: "other", Key: "k"})
	t.want(err, provider.ErrNotFound)
}

func recordExpect(t *trial) {
	t.record(put("k", "one", 0))
	for _, expect := range []int64{0, 2} {
		_, err := t.Record(t.ctx, put("k", "two", expect))
		t.want(err, provider.ErrConflict)
	}
	_, err := t.Record(t.ctx, put("new", "x", 1))
	t.want(err, provider.ErrConflict)
	got := t.record(provider.RecordRequest{Action: provider.RecordScan, Namespace: "n"})
	t.checkf(len(got) == 1 && string(got[0].Value) == "one", "stored is %+v, want the value one", got)
}

func recordDelete(t *trial) {
	t.record(put("k", "one", 0))
	req := provider.RecordRequest{Action: provider.RecordDelete, Namespace: "n", Key: "k", Expect: 2}
	_, err := t.Record(t.ctx, req)
	t.want(err, provider.ErrConflict)
	req.Expect = 1
	t.record(req)
	_, err = t.Record(t.ctx, req)
	t.want(err, provider.ErrConflict)
	t.record(put("k", "again", 0))
}

func recordRace(t *trial) {
	t.record(put("k", "0", 0))
	var won atomic.Int64
	t.parallel(8, func(n int) {
		_, err := t.Record(t.ctx, put("k", fmt.Sprint(n), 1))
		if err == nil {
			won.Add(1)
			return
		}
		t.want(err, provider.ErrConflict)
	})
	t.checkf(won.Load() == 1, "%d writes on one version were stored, want 1", won.Load())
}

func recordScan(t *trial) {
	for _, key := range []string{"b/1", "a/2", "a/1", "a", "a/3", "a0", "B"} {
		t.record(put(key, "v", 0))
	}
	scan := func(prefix, after string, size int, want string) {
		got := t.record(provider.RecordRequest{Action: provider.RecordScan, Namespace: "n", Prefix: prefix, Key: after, Max: size})
		keys := make([]string, 0, len(got))
		for _, r := range got {
			keys = append(keys, r.Key)
		}
		t.checkf(strings.Join(keys, " ") == want, "the scan of %q after %q has %v, want %s", prefix, after, keys, want)
	}
	scan("", "", 0, "B a a/1 a/2 a/3 a0 b/1")
	scan("a/", "", 0, "a/1 a/2 a/3")
	scan("a/", "a/1", 1, "a/2")
	scan("a/", "a/3", 0, "")
}
