package order

import (
	"context"
	"errors"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// These are the stored names. The prefix keeps them apart from the names of services. The results are made up, so a
// worker of the demo must never fetch an activity of a service. Without [orchestration.Define] and [activity.Define]
// the names would be Process, Shop.Reserve and so on.
const (
	prefix      = "perdure-demo."
	ProcessName = prefix + "Process"
	PackName    = prefix + "Pack"
)

// activities holds the methods of a shop under their stored names.
type activities struct {
	reserve func(context.Context, Order) (Reservation, error)
	release func(context.Context, Reservation) (orchestration.None, error)
	pack    func(context.Context, Reservation) (Parcel, error)
	unpack  func(context.Context, Parcel) (orchestration.None, error)
	charge  func(context.Context, Order) (string, error)
	refund  func(context.Context, string) (orchestration.None, error)
	ship    func(context.Context, Parcel) (string, error)
}

func activitiesOf(s *Shop) activities {
	return activities{
		reserve: activity.Define(prefix+"Reserve", s.Reserve),
		release: activity.Define(prefix+"Release", s.Release),
		pack:    activity.Define(PackName, s.Pack),
		unpack:  activity.Define(prefix+"Unpack", s.Unpack),
		charge:  activity.Define(prefix+"Charge", s.Charge),
		refund:  activity.Define(prefix+"Refund", s.Refund),
		ship:    activity.Define(prefix+"Ship", s.Ship),
	}
}

// Register adds the orchestration and the activities of this package to a registry.
func Register(reg *runtime.Registry, shop *Shop) error {
	do := activitiesOf(shop)
	return errors.Join(
		runtime.AddError(reg, prefix+"declined", ErrDeclined),
		runtime.AddOrchestration(reg, Process),
		runtime.AddActivity(reg, do.reserve),
		runtime.AddActivity(reg, do.release),
		runtime.AddActivity(reg, do.pack),
		runtime.AddActivity(reg, do.unpack),
		runtime.AddActivity(reg, do.charge),
		runtime.AddActivity(reg, do.refund),
		runtime.AddActivity(reg, do.ship),
	)
}
