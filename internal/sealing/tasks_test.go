package sealing_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// taskStore notes renewals and reports, and fails when it is told to.
type taskStore struct {
	provider.Provider

	fail    []error // of the calls to come
	details []string
	calls   int
}

func (s *taskStore) Unwrap() provider.Provider { return s.Provider }

func (s *taskStore) call(valid error) error {
	s.calls++
	if len(s.fail) > 0 {
		var err error
		if err, s.fail = s.fail[0], s.fail[1:]; err != nil {
			return err
		}
	}
	return valid
}

func (s *taskStore) RenewTasks(_ context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	for _, item := range req.Items {
		s.details = append(s.details, string(item.Details))
	}
	return provider.RenewTasksResult{Items: make([]provider.TaskRenewalResult, len(req.Items))}, s.call(req.Validate())
}

func (s *taskStore) ReportTasks(_ context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	return provider.ReportTasksResult{Items: make([]provider.TaskReportResult, len(req.Items))}, s.call(req.Validate())
}

func renewal(i int, details []byte) provider.TaskRenewal {
	key := provider.UUID{1, byte(i)}
	return provider.TaskRenewal{TaskRef: provider.TaskRef{Key: key, Execution: 1, EventID: 2}, Token: key, Details: details}
}

// Details that could not be sealed wait until a renewal with them is stored, whatever fails meanwhile.
func TestHazard72_LateHeartbeatsOutliveTheStore(t *testing.T) {
	t.Parallel()
	under, c := &taskStore{Provider: memory.New(memory.Options{})}, newSwitched(t, "a")
	p := seal(under, c)
	renew := func(details []byte) {
		_, _ = p.RenewTasks(t.Context(), provider.RenewTasksRequest{Lease: time.Minute, Items: []provider.TaskRenewal{renewal(1, details)}})
	}
	c.fail(errDown)
	renew([]byte("half"))
	c.fail(nil)
	under.fail = []error{errDown, errDown}
	renew(nil)
	renew(nil)
	renew(nil)
	renew(nil)
	var got []bool
	for _, d := range under.details {
		got = append(got, d != "")
	}
	if want := []bool{false, true, true, true, false}; !slices.Equal(got, want) {
		t.Errorf("renewals with details: %v, want %v", got, want)
	}
}

// What was not too large before it was sealed is not too large after it.
func TestHazard71_SealedBatchesFit(t *testing.T) {
	t.Parallel()
	under := &taskStore{Provider: memory.New(memory.Options{})}
	p := seal(under, newSwitched(t, "a"))
	var renewals provider.RenewTasksRequest
	var reports provider.ReportTasksRequest
	for i := range 16 {
		r := renewal(i, make([]byte, 2<<20))
		renewals.Items = append(renewals.Items, r)
		reports.Items = append(reports.Items, provider.TaskReport{
			TaskRef: r.TaskRef, Token: r.Token, Attempt: 1, Outcome: provider.TaskRetry, Details: r.Details, Delay: time.Second,
		})
	}
	renewals.Lease = time.Minute
	if res, err := p.RenewTasks(t.Context(), renewals); err != nil || len(res.Items) != 16 || under.calls != 2 {
		t.Errorf("renewals: %d results of %d calls, %v", len(res.Items), under.calls, err)
	}
	if res, err := p.ReportTasks(t.Context(), reports); err != nil || len(res.Items) != 16 || under.calls != 4 {
		t.Errorf("reports: %d results of %d calls, %v", len(res.Items), under.calls, err)
	}
	// A part that fails does not hide what is known of the other.
	down := &provider.Error{Op: "report tasks", Outcome: provider.OutcomeNothing, Retryable: true, Err: errDown}
	under.fail = []error{nil, down}
	if _, err := p.ReportTasks(t.Context(), reports); !provider.Retryable(err) || provider.OutcomeOf(err) != provider.OutcomeUnknown {
		t.Errorf("the second part fails: %v", err)
	}
	under.fail = []error{&provider.Error{Op: "report tasks", Outcome: provider.OutcomeNothing, Err: errDown}}
	if res, err := p.ReportTasks(t.Context(), reports); err != nil || !errors.Is(res.Items[0].Err, errDown) || res.Items[15].Err != nil {
		t.Errorf("the first part is refused: %v", err)
	}
	under.fail = []error{errDown}
	calls := under.calls
	if _, err := p.RenewTasks(t.Context(), renewals); !errors.Is(err, errDown) || under.calls != calls+2 {
		t.Errorf("a part is not renewed: %v", err)
	}
}
