package model

import "github.com/perdure/perdure/provider"

func doLease(d *driver) {
	req := provider.LeaseRequest{Action: provider.LeaseAcquire, Name: pick(&d.source, "l", "k"), Owner: d.owner(), Token: d.token(), Duration: d.lease()}
	if d.odds(3) {
		req.Action = provider.LeaseRelease
	}
	_, _ = call(d, "lease", (*provider.Full).Lease, always(req), nil)
}

func doRecord(d *driver) {
	req := provider.RecordRequest{
		Action: pick(&d.source, provider.RecordPut, provider.RecordPut, provider.RecordDelete, provider.RecordScan, provider.RecordGet), Namespace: "n",
		Key: pick(&d.source, "k", "ka", "l"),
	}
	switch req.Action {
	case provider.RecordPut:
		req.Value, req.Expect = d.payload("value"), int64(d.n(3))
	case provider.RecordDelete:
		req.Expect = int64(d.n(3))
	case provider.RecordScan:
		req.Key, req.Prefix, req.Max = pick(&d.source, "", "k", "z"), pick(&d.source, "", "k"), d.n(3)
	default:
	}
	_, _ = call(d, "record", (*provider.Full).Record, always(req), nil)
}
