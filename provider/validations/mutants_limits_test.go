package validations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

func brokenLimits() []brokenRule {
	return []brokenRule{
		{name: "invalid UTF-8 in an owner is replaced", caught: "limits/names", breaks: fetches(mendsOwner)},
		{name: "the longest name is too long", caught: "limits/longest-name", breaks: creates(refusesLongest)},
		{name: "a commit without an ID conflicts", caught: "limits/zero-ids", breaks: conflictsWithoutID},
		{name: "an empty report has a result", caught: "limits/empty-batches", breaks: answersNobody},
		{name: "a refused commit changes the version", caught: "limits/refused-before-stored", breaks: touchesRefused},
		{name: "deletes at the same time fail", caught: "limits/calls-at-once", racing: true, breaks: deletesAlone},
		{name: "an error of a prune says nothing", caught: "limits/every-error", wide: true, breaks: hidesSentinel},
		{name: "records are dated by another clock", caught: "limits/one-clock", breaks: datesByAnotherClock},
		{name: "a time is in milliseconds", caught: "limits/microseconds", breaks: tellsMilliseconds},
	}
}

func mendsOwner(req *provider.FetchTurnsRequest) { req.Owner = strings.ToValidUTF8(req.Owner, "?") }

// creates changes the requests of Create.
func creates(change func(*provider.CreateRequest)) func(*mutant) {
	return func(m *mutant) { m.create.before(change) }
}

func refusesLongest(req *provider.CreateRequest) {
	if len(req.ID) == provider.MaxName && strings.HasPrefix(req.ID, "ü") {
		req.ID += "x"
	}
}

func conflictsWithoutID(m *mutant) {
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
		if req.Commit.IsZero() {
			*err = provider.ErrConflict
		}
	})
}

func answersNobody(m *mutant) {
	m.report.after(func(req provider.ReportTasksRequest, res *provider.ReportTasksResult, err *error) {
		if len(req.Items) == 0 && *err == nil {
			res.Items = make([]provider.TaskReportResult, 1)
		}
	})
}

func touchesRefused(m *mutant) {
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
		if errors.Is(*err, provider.ErrTooLarge) {
			m.touch(context.Background(), req.Key)
		}
	})
}

func deletesAlone(m *mutant) {
	var running atomic.Int64
	m.remove.around(func(ctx context.Context, req provider.DeleteRequest, remove deleteMethod) (provider.DeleteResult, error) {
		running.Add(1)
		window()
		alone := running.Load() == 1
		window()
		running.Add(-1)
		if !alone {
			return provider.DeleteResult{}, provider.ErrConflict
		}
		return remove(ctx, req)
	})
}

func hidesSentinel(m *mutant) {
	m.prune.after(func(_ provider.PruneRequest, _ *provider.PruneResult, err *error) {
		if *err != nil {
			*err = fmt.Errorf("prune failed: %s", (*err).Error())
		}
	})
}

func datesByAnotherClock(m *mutant) {
	m.record.after(func(_ provider.RecordRequest, res *provider.RecordResult, _ *error) {
		for n := range res.Records {
			res.Records[n].UpdatedAt = res.Records[n].UpdatedAt.Add(-time.Hour)
		}
	})
}

func tellsMilliseconds(m *mutant) {
	m.send.after(func(req provider.SendRequest, res *provider.SendResult, _ *error) {
		if req.Key.IsZero() {
			res.Now /= 1000
		}
	})
}
