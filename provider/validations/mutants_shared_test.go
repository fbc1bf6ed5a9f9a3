package validations

import (
	"context"
	"errors"

	"github.com/perdure/perdure/provider"
)

func brokenShared() []brokenRule {
	return []brokenRule{
		{name: "a record is overwritten whatever its version", caught: "shared/record-expect", breaks: overwritesRecords},
	}
}

func overwritesRecords(m *mutant) {
	m.record.around(func(ctx context.Context, req provider.RecordRequest, record recordMethod) (provider.RecordResult, error) {
		res, err := record(ctx, req)
		if !errors.Is(err, provider.ErrConflict) {
			return res, err
		}
		stored, err := record(ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: req.Namespace, Key: req.Key})
		if err != nil {
			return stored, err
		}
		req.Expect = stored.Records[0].Version
		return record(ctx, req)
	})
}
