package validations

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

func brokenFollow() []brokenRule {
	return []brokenRule{
		{name: "an empty value is not returned", caught: "follow/value", breaks: got(hidesEmptyValue)},
		{name: "a wait for a value misses it", caught: "follow/value-wakes", breaks: got(looksOnlyOnce())},
		{name: "a wait for a value ends with every commit", caught: "follow/value-differs", breaks: endsWithAnyVersion},
		{name: "every old value ends a wait", caught: "follow/value-old-and-new", breaks: asks(forgetsOldValue)},
		{name: "a wait for a value misses the completion", caught: "follow/value-of-ended", breaks: waitsPastCompletion},
		{name: "a wait for a value passes over Blocked", caught: "follow/value-of-blocked", breaks: asks(waitsThroughBlocked)},
		{name: "a hundred calls may follow", caught: "follow/thousand-values", breaks: followsAFew},
		{name: "a removed instance does not end the wait for its mark", caught: "follow/removed", breaks: missesRemoval},
		{name: "a mark covers the version only", caught: "follow/mark", breaks: got(marksVersions)},
		{name: "a mark covers the end of a lease", caught: "follow/mark-of-unchanged", breaks: got(marksLeases)},
		{name: "a wait for a mark returns at once", caught: "follow/mark-waits", breaks: asks(neverWaitsForMarks)},
		{name: "heartbeats do not wake a follower", caught: "follow/mark-wakes", breaks: followsWithoutDetails},
		{name: "a follower sees an expired lease when its wait passes", caught: "follow/mark-of-an-expired-lease", breaks: sleepsThroughLapses},
		{name: "a mark that differs is returned at once", caught: "follow/mark-pace", breaks: returnsMarksAtOnce},
		{name: "the first of two waits counts", caught: "follow/one-wait", breaks: takesTwoWaits},
	}
}

// asks changes the requests of Get.
func asks(change func(*provider.GetRequest)) func(*mutant) {
	return func(m *mutant) { m.get.before(change) }
}

// got changes the results of Get.
func got(change func(provider.GetRequest, *provider.GetResult)) func(*mutant) {
	return func(m *mutant) {
		m.get.after(func(req provider.GetRequest, res *provider.GetResult, _ *error) { change(req, res) })
	}
}

func hidesEmptyValue(_ provider.GetRequest, res *provider.GetResult) {
	if res.Value != nil && len(res.Value.Value) == 0 {
		res.Value = nil
	}
}

// looksOnlyOnce hides the value from the first call that has waited for it.
func looksOnlyOnce() func(provider.GetRequest, *provider.GetResult) {
	var missed atomic.Bool
	return func(req provider.GetRequest, res *provider.GetResult) {
		if req.WaitValue && req.OldValue == nil && missed.CompareAndSwap(false, true) {
			res.Value = nil
		}
	}
}

// getting calls Get in another way for some requests.
func getting(which func(provider.GetRequest) bool,
	get func(m *mutant, ctx context.Context, req provider.GetRequest, get getMethod) (provider.GetResult, error),
) func(*mutant) {
	return func(m *mutant) {
		m.get.around(func(ctx context.Context, req provider.GetRequest, inner getMethod) (provider.GetResult, error) {
			if !which(req) || req.Validate() != nil {
				return inner(ctx, req)
			}
			return get(m, ctx, req, inner)
		})
	}
}

func waitsForValue(req provider.GetRequest) bool { return req.WaitValue && req.Wait > 0 }

func waitsForMark(req provider.GetRequest) bool { return req.Mark != "" && req.Wait > 0 }

// poll repeats a Get without a Wait until a result is good or the Wait has passed.
func poll(ctx context.Context, req provider.GetRequest, get getMethod, every time.Duration, good func(*provider.GetResult) bool) (res provider.GetResult, err error) {
	until := time.Now().Add(req.Wait)
	req.Wait = 0
	for {
		res, err = get(ctx, req)
		if err != nil || good(&res) || !time.Now().Before(until) {
			return res, err
		}
		time.Sleep(every) //nolint:forbidigo // of a bubble's clock
	}
}

func endsWithAnyVersion(m *mutant) {
	getting(waitsForValue, func(_ *mutant, ctx context.Context, req provider.GetRequest, get getMethod) (provider.GetResult, error) {
		first, err := get(ctx, provider.GetRequest{ID: req.ID, Key: req.Key})
		if err != nil {
			return first, err
		}
		return poll(ctx, req, get, blink, func(res *provider.GetResult) bool {
			return req.Ends(res) || res.Instance.Version != first.Instance.Version
		})
	})(m)
}

func forgetsOldValue(req *provider.GetRequest) { req.OldValue = nil }

func waitsPastCompletion(m *mutant) {
	getting(waitsForValue, func(_ *mutant, ctx context.Context, req provider.GetRequest, get getMethod) (provider.GetResult, error) {
		return poll(ctx, req, get, blink, func(res *provider.GetResult) bool {
			return req.Ends(res) && res.Instance.Status != provider.StatusCompleted
		})
	})(m)
}

func waitsThroughBlocked(req *provider.GetRequest) {
	req.WaitBlocked = req.WaitBlocked && !req.WaitValue
}

func followsAFew(m *mutant) {
	var n atomic.Int64
	getting(waitsForValue, func(_ *mutant, ctx context.Context, req provider.GetRequest, get getMethod) (provider.GetResult, error) {
		defer n.Add(-1)
		if n.Add(1) > 100 {
			return provider.GetResult{}, provider.ErrInboxFull
		}
		return get(ctx, req)
	})(m)
}

func missesRemoval(m *mutant) {
	getting(waitsForMark, func(_ *mutant, ctx context.Context, req provider.GetRequest, get getMethod) (provider.GetResult, error) {
		began := time.Now()
		res, err := get(ctx, req)
		if req.ID != "" && errors.Is(err, provider.ErrNotFound) {
			time.Sleep(req.Wait - time.Since(began)) //nolint:forbidigo // of a bubble's clock
		}
		return res, err
	})(m)
}

func marksVersions(_ provider.GetRequest, res *provider.GetResult) {
	if res.Mark != "" {
		res.Mark = res.Instance.Version.String()
	}
}

func marksLeases(_ provider.GetRequest, res *provider.GetResult) {
	for i := range res.Tasks {
		if res.Mark != "" && res.Tasks[i].LeaseUntil != 0 {
			res.Mark += fmt.Sprint(res.Tasks[i].LeaseUntil)
		}
	}
}

func neverWaitsForMarks(req *provider.GetRequest) {
	if req.Mark != "" {
		req.Wait = min(req.Wait, provider.MarkPace)
	}
}

// followsWithoutDetails does not see a heartbeat.
func followsWithoutDetails(m *mutant) {
	getting(waitsForMark, func(_ *mutant, ctx context.Context, req provider.GetRequest, get getMethod) (provider.GetResult, error) {
		return poll(ctx, req, get, provider.MarkPace, func(res *provider.GetResult) bool {
			beats := len(res.Tasks) > 0 && res.Tasks[0].State == provider.TaskLeased && len(res.Tasks[0].Details) > 0
			return !beats && req.Ends(res)
		})
	})(m)
}

// sleepsThroughLapses looks again only when something was committed.
func sleepsThroughLapses(m *mutant) {
	getting(waitsForMark, func(m *mutant, ctx context.Context, req provider.GetRequest, get getMethod) (provider.GetResult, error) {
		commits := int64(-1)
		time.Sleep(min(provider.MarkPace, req.Wait)) //nolint:forbidigo // of a bubble's clock
		return poll(ctx, req, get, provider.MarkPace, func(res *provider.GetResult) bool {
			before := commits
			commits = m.Provider.Counters().Commits
			return commits != before && req.Ends(res)
		})
	})(m)
}

func returnsMarksAtOnce(m *mutant) {
	getting(waitsForMark, func(_ *mutant, ctx context.Context, req provider.GetRequest, get getMethod) (provider.GetResult, error) {
		return poll(ctx, req, get, blink, req.Ends)
	})(m)
}

func takesTwoWaits(m *mutant) {
	m.get.before(func(req *provider.GetRequest) {
		if req.WaitEnded {
			req.WaitValue, req.OldValue, req.Mark = false, nil, ""
		}
	})
}
