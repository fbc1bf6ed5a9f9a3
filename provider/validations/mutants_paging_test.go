package validations

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
)

// brokenPaging lists mutants whose pages are wrong during writes.
func brokenPaging() []brokenRule {
	return []brokenRule{
		{name: "a list during a write hides a row", caught: "read/list-while-others-write", racing: true, breaks: func(m *mutant) {
			var w writes
			inFlight(&w, &m.steer)
			inFlight(&w, &m.remove)
			m.list.after(func(_ provider.ListRequest, res *provider.ListResult, _ *error) {
				if w.any() && len(res.Instances) > 1 {
					res.Instances = res.Instances[:len(res.Instances)-1]
				}
			})
		}},
		{name: "a page of a history during a commit is the last", caught: "read/history-while-it-grows", racing: true, breaks: func(m *mutant) {
			var w writes
			inFlight(&w, &m.commit)
			m.history.after(func(_ provider.ReadHistoryRequest, res *provider.ReadHistoryResult, _ *error) {
				res.More = res.More && !w.any()
			})
		}},
		{name: "a page of dead letters during a write hides one", caught: "clean/letters-while-others-write", racing: true, breaks: func(m *mutant) {
			var w writes
			inFlight(&w, &m.steer)
			m.letters.after(func(_ provider.DeadLettersRequest, res *provider.DeadLettersResult, _ *error) {
				if w.any() && len(res.Letters) > 1 {
					res.Letters = res.Letters[1:]
				}
			})
		}},
		{name: "a scan during a write hides a record", caught: "shared/scan-while-others-write", racing: true, breaks: func(m *mutant) {
			var w writes
			m.record.around(func(ctx context.Context, req provider.RecordRequest, record method[provider.RecordRequest, provider.RecordResult]) (provider.RecordResult, error) {
				if req.Action != provider.RecordScan {
					defer w.enter(true)()
					time.Sleep(time.Millisecond) //nolint:forbidigo // of a bubble's clock
					return record(ctx, req)
				}
				res, err := record(ctx, req)
				if w.any() && len(res.Records) > 1 {
					res.Records = res.Records[1:]
				}
				return res, err
			})
		}},
	}
}

// writes counts the writes in flight.
type writes struct{ crowd[bool] }

func (w *writes) any() bool { return w.size(true) > 0 }

// inFlight makes the calls of a method last.
func inFlight[Req, Res any](w *writes, f *method[Req, Res]) {
	f.around(func(ctx context.Context, req Req, inner method[Req, Res]) (Res, error) {
		defer w.enter(true)()
		time.Sleep(time.Millisecond) //nolint:forbidigo // of a bubble's clock
		return inner(ctx, req)
	})
}
