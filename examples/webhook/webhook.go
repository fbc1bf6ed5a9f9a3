// Package webhook shows an activity that a person completes days later by opening a link.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// Decision is the output of the activity.
type Decision struct {
	By       string
	Approved bool
}

// Desk asks people.
type Desk struct {
	URL  string // of the service's web server
	Mail func(ctx context.Context, text string) error
}

// Approve asks for a decision and returns without it. It holds no slot and no lease until the decision arrives.
func (d *Desk) Approve(ctx context.Context, cents int) (Decision, error) {
	link := d.URL + "/decide?token=" + url.QueryEscape(activity.Token(ctx))
	if err := d.Mail(ctx, fmt.Sprintf("approve %d cents? %s", cents, link)); err != nil {
		return Decision{}, err
	}
	return Decision{}, activity.ErrParked
}

// Expense waits a week for the decision. The call has no start-to-close timeout, which would keep running while the
// activity is parked and invalidate the link.
func Expense(ctx *orchestration.Context, cents int) (string, error) {
	var desk *Desk
	decision := orchestration.StartActivity(ctx, desk.Approve, cents)
	week := orchestration.StartTimer(ctx, 7*24*time.Hour)
	which, err := orchestration.Select(ctx, decision, week)
	if err != nil {
		return "", err
	}
	if which == 1 {
		decision.Cancel()
		return "no decision", nil
	}
	d, err := decision.Get(ctx)
	switch {
	case err != nil:
		return "", err
	case !d.Approved:
		return "refused by " + d.By, nil
	}
	return "approved by " + d.By, nil
}

// Decide serves the link. It may run in another process than the activity.
func Decide(c *client.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d := Decision{By: r.FormValue("by"), Approved: r.FormValue("approved") == "yes"}
		err := client.CompleteActivity(r.Context(), c, r.FormValue("token"), d)
		switch {
		case err == nil:
			fmt.Fprintln(w, "thank you")
		case errors.Is(err, client.ErrInvalid):
			http.Error(w, "invalid link", http.StatusBadRequest)
		case errors.Is(err, activity.ErrAlreadyCompleted), errors.Is(err, activity.ErrLeaseLost),
			errors.Is(err, client.ErrEnded), errors.Is(err, client.ErrNotFound):
			http.Error(w, "already decided", http.StatusGone)
		default:
			http.Error(w, "try again later", http.StatusServiceUnavailable)
		}
	}
}
