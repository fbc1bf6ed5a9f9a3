package programs

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/provider"
)

// check checks that the program left only whole histories in the store.
func (r *run) check(ctx context.Context) error {
	stats, err := provider.FullOf(r.store).Stats(ctx, provider.StatsRequest{})
	if err != nil {
		return err
	}
	if stats.TurnLeases+stats.TaskLeases+stats.Blocked+int64(len(stats.Turns)+len(stats.Tasks)) > 0 || provider.CountersOf(r.store).ReadyMended > 0 {
		err = fmt.Errorf("left behind: %+v", stats)
	}
	report, failed := invariant.Check(ctx, provider.FullOf(r.store), invariant.Options{Idle: true})
	err = errors.Join(err, failed)
	for _, finding := range report.Findings {
		if r.leavesAsks && finding.Rule == invariant.Leftover && finding.Detail == "an ask without a waiting caller" {
			continue
		}
		err = errors.Join(err, fmt.Errorf("%v", finding))
	}
	if len(report.Skipped) > 0 {
		err = errors.Join(err, fmt.Errorf("not checked: %v", report.Skipped))
	}
	return err
}
