// Package expense pays an expense after a person has approved it, which may take weeks. The activity that asks gives its activity.Token
// to the office and returns activity.ErrParked. The office ends that call with client.CompleteActivity.
package expense

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Office is the service where people decide. Post sends a form to one of its pages.
type Office struct {
	Post func(ctx context.Context, page string, form url.Values) error
}

// Submit shows the expense to the people who decide.
func (o *Office) Submit(ctx context.Context, id string) (activity.None, error) {
	return activity.None{}, o.Post(ctx, "submit", url.Values{"id": {id}})
}

// Decide asks for a decision and returns without it. While the call is parked, it holds no slot on any node.
func (o *Office) Decide(ctx context.Context, id string) (approved bool, err error) {
	if err := o.Post(ctx, "decide", url.Values{"id": {id}, "token": {activity.Token(ctx)}}); err != nil {
		return false, err
	}
	return false, activity.ErrParked
}

// Pay pays the expense.
func (o *Office) Pay(ctx context.Context, id string) (activity.None, error) {
	return activity.None{}, o.Post(ctx, "pay", url.Values{"id": {id}})
}

// Expense returns what became of an expense.
func Expense(ctx *orchestration.Context, id string) (string, error) {
	var office *Office // never called here: it only names the activities
	retry := orchestration.WithRetry(orchestration.RetryPolicy{})
	if _, err := orchestration.CallActivity(ctx, office.Submit, id, retry); err != nil {
		return "", err
	}
	approved, err := orchestration.CallActivity(ctx, office.Decide, id, retry, orchestration.WithScheduleToCloseTimeout(30*24*time.Hour))
	switch {
	case errors.Is(err, orchestration.ErrTimeout):
		return "expired", nil
	case err != nil:
		return "", err
	case !approved:
		return "rejected", nil
	}
	_, err = orchestration.CallActivity(ctx, office.Pay, id, retry)
	return "paid", err
}
