package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// ActivitiesQuery selects pending activities of all instances. Zero fields do not restrict.
type ActivitiesQuery struct {
	Queue string
	Name  string // of the activity
	// Retrying finds only those that are tried again: an attempt has failed, or was lost with its node. Local activities are tried again inside a
	// turn, which nobody sees: they are never listed.
	Retrying bool
}

// ListedActivity is a pending activity with its instance.
type ListedActivity struct {
	Activity

	InstanceID    string        `json:"instanceId"`
	Key           provider.UUID `json:"key"` // of the instance
	Execution     int64         `json:"execution"`
	Orchestration string        `json:"orchestration"`
	CodeVersion   string        `json:"codeVersion,omitempty"` // of the orchestration
	// Since is when the first attempt failed, if Attempts has that one; else when the activity was scheduled.
	Since time.Time `json:"since"`
}

// Activities is a page of pending activities. Cursor is "" on the last one.
type Activities struct {
	Items  []ListedActivity `json:"items"`
	Cursor string           `json:"cursor,omitempty"`
	AsOf   time.Time        `json:"asOf"`
}

// Activities returns a page of the pending activities of all instances, in an order that stays the same from page to page. A page may be short, even
// empty, although Cursor leads on. Those of perdure itself are left out. NotBegun is not known in lists.
//
// A store without provider.TaskLister cannot tell: the error wraps errors.ErrUnsupported.
func (c *Client) Activities(ctx context.Context, q ActivitiesQuery, page Page) (Activities, error) {
	const op = "listing activities"
	if err := cmp.Or(
		c.usable(ctx), access.Invalid(check.OptionalName("Queue", q.Queue)), access.Invalid(check.OptionalName("Name", q.Name)),
	); err != nil {
		return Activities{}, fmt.Errorf("%s: %w", op, err)
	}
	if page.Size < 0 || page.Size > provider.MaxPage {
		return Activities{}, fmt.Errorf("%s: %w: page size %d: give 1 to %d, or 0 for %d", op, ErrInvalid, page.Size, provider.MaxPage, access.DefaultPage)
	}
	if len(page.Omit) > 0 {
		return Activities{}, fmt.Errorf("%s: %w: Page.Omit is for lists of instances: leave it empty", op, ErrInvalid)
	}
	if err := c.store.Filters(&provider.Filter{Retrying: q.Retrying}); err != nil {
		return Activities{}, access.Explain(op, 0, err)
	}
	res, err := access.Read(ctx, c.store.Store, op, c.store.ListTasks, provider.ListTasksRequest{
		Queue: q.Queue, Name: q.Name, Retrying: q.Retrying, Cursor: page.Cursor, Max: cmp.Or(page.Size, access.DefaultPage),
	})
	if err != nil {
		return Activities{}, access.Explain(op, 0, err)
	}
	out := Activities{Items: []ListedActivity{}, Cursor: res.Cursor, AsOf: res.Now.Std()}
	for i := range res.Tasks {
		t := &res.Tasks[i]
		if reserved.ID(t.InstanceID) {
			continue
		}
		one := ListedActivity{
			Activity: describeActivity(&t.TaskInfo), InstanceID: t.InstanceID, Key: t.Key, Execution: t.Execution,
			Orchestration: t.Orchestration, CodeVersion: t.CodeVersion, Since: t.ScheduledAt.Std(),
		}
		if first := slices.IndexFunc(one.Attempts, func(a Attempt) bool { return a.Number == 1 && !a.Ended.IsZero() }); first >= 0 {
			one.Since = one.Attempts[first].Ended
		}
		out.Items = append(out.Items, one)
	}
	return out, nil
}
