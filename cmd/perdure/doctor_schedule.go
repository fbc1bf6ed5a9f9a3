package main

import (
	"context"
	"errors"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/provider"
)

// ruleSchedule is the rule of findings on schedules, which are no damage.
const ruleSchedule invariant.Rule = "schedule"

// scheduleFindings reports schedules that cannot do their work: a run that holds up due times, a zone that is not known, a clock that is
// ahead. A store that cannot list instances has none.
func (a *app) scheduleFindings(ctx context.Context, store provider.Provider) (found []finding, err error) {
	c, err := client.New(store, client.Options{Logger: a.logger})
	if err != nil {
		return nil, err
	}
	for page := (client.Page{}); ; {
		list, err := c.Schedules(ctx, "", page)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			d := &list.Items[i]
			for _, text := range d.Findings {
				found = append(found, finding{
					Rule: ruleSchedule, ID: "perdure/schedule/" + d.ID, Key: d.Key.String(), Detail: text,
					Means: "the schedule does not start its runs as it should", Advice: "look at it with 'perdure schedule show'",
				})
			}
		}
		if page.Cursor = list.Cursor; page.Cursor == "" {
			return found, nil
		}
	}
}
