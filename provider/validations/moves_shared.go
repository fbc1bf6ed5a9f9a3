package validations

import "github.com/perdure/perdure/provider"

func put(key, value string, expect int64) provider.RecordRequest {
	return provider.RecordRequest{Action: provider.RecordPut, Namespace: "n", Key: key, Value: []byte(value), Expect: expect}
}

func (t *trial) record(req provider.RecordRequest) []provider.Record {
	res, err := t.Record(t.ctx, req)
	t.ok(err)
	return res.Records
}

func acquire(owner string) provider.LeaseRequest {
	return provider.LeaseRequest{Action: provider.LeaseAcquire, Name: "janitor", Owner: owner, Token: unique(), Duration: long}
}

func callLease(t *trial, req provider.LeaseRequest) provider.LeaseResult {
	res, err := t.Lease(t.ctx, req)
	t.ok(err)
	return res
}
