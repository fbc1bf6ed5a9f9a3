package order

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// PackSteps is the number of steps of [Shop.Pack], each of which it reports.
const PackSteps = 10

// Shop is the world that the activities of an order touch.
type Shop struct {
	Ledger *Ledger
	// StepTime is how long a step of packing takes.
	StepTime time.Duration
	// Watch is told of each attempt and each step of packing; nil: nobody is.
	Watch func(Progress)
}

// Progress is what Shop.Watch is told.
type Progress struct {
	Instance string `json:"instance"`
	Activity string `json:"activity"`
	Event    int64  `json:"event"` // that scheduled the activity
	Attempt  int    `json:"attempt"`
	Delivery int    `json:"delivery"`
	Started  bool   `json:"started,omitempty"` // an attempt begins
	Fails    string `json:"fails,omitempty"`   // why an attempt fails
	Resumed  bool   `json:"resumed,omitempty"` // it goes on after Step, which an earlier one had reported
	Step     int    `json:"step,omitempty"`    // of packing
	Total    int    `json:"total,omitempty"`
}

// Reservation is stock put aside for an order.
type Reservation struct {
	Order string `json:"order"`
	Ref   string `json:"ref"`
	Units int    `json:"units"`
}

// Parcel is a packed order.
type Parcel struct {
	Order string `json:"order"`
	Ref   string `json:"ref"`
}

// errBusy is the failure that Reserve makes on purpose.
var errBusy = errors.New("warehouse is busy, try again")

// Reserve puts stock aside. Its first attempt fails on purpose, to show the retry.
func (s *Shop) Reserve(ctx context.Context, o Order) (Reservation, error) {
	if err := s.begin(ctx, Progress{}); err != nil {
		return Reservation{}, err
	}
	if activity.GetInfo(ctx).Attempt == 1 {
		s.tell(ctx, Progress{Fails: errBusy.Error()})
		return Reservation{}, errBusy
	}
	units := 0
	for _, item := range o.Items {
		units += item.Quantity
	}
	return Reservation{Order: o.ID, Ref: reference(ctx, "RSV"), Units: units}, s.Ledger.Once(ctx, "reserve")
}

// Release gives the stock back.
func (s *Shop) Release(ctx context.Context, _ Reservation) (orchestration.None, error) {
	if err := s.begin(ctx, Progress{}); err != nil {
		return orchestration.None{}, err
	}
	return orchestration.None{}, s.Ledger.Once(ctx, "release")
}

// Pack takes a while. It reports each step as a heartbeat, and an attempt that follows a
// lost one goes on after the last step that was stored.
func (s *Shop) Pack(ctx context.Context, r Reservation) (Parcel, error) {
	done, resumed, err := activity.HeartbeatDetails[int](ctx)
	if err != nil {
		return Parcel{}, err
	}
	if err := s.begin(ctx, Progress{Resumed: resumed, Step: done, Total: PackSteps}); err != nil {
		return Parcel{}, err
	}
	for step := done + 1; step <= PackSteps; step++ {
		if err := wait(ctx, s.StepTime); err != nil {
			return Parcel{}, err
		}
		// A step that was done and not yet reported when the process died comes again; its key
		// does not, so the ledger drops it.
		if err := s.Ledger.Once(ctx, fmt.Sprintf("pack-%02d", step)); err != nil {
			return Parcel{}, err
		}
		if err := activity.Heartbeat(ctx, step); err != nil {
			return Parcel{}, err
		}
		s.tell(ctx, Progress{Step: step, Total: PackSteps})
	}
	return Parcel{Order: r.Order, Ref: reference(ctx, "PCL")}, nil
}

// Unpack puts the goods of a parcel back.
func (s *Shop) Unpack(ctx context.Context, _ Parcel) (orchestration.None, error) {
	if err := s.begin(ctx, Progress{}); err != nil {
		return orchestration.None{}, err
	}
	return orchestration.None{}, s.Ledger.Once(ctx, "unpack")
}

// Charge takes the customer's money and answers the payment. A refusal is final.
func (s *Shop) Charge(ctx context.Context, o Order) (string, error) {
	if err := s.begin(ctx, Progress{}); err != nil {
		return "", err
	}
	if o.Decline {
		s.tell(ctx, Progress{Fails: ErrDeclined.Error()})
		return "", orchestration.NonRetryable(fmt.Errorf("charging %s: %w", o.Customer, ErrDeclined))
	}
	return reference(ctx, "PAY"), s.Ledger.Once(ctx, "charge")
}

// Refund gives a payment back.
func (s *Shop) Refund(ctx context.Context, _ string) (orchestration.None, error) {
	if err := s.begin(ctx, Progress{}); err != nil {
		return orchestration.None{}, err
	}
	return orchestration.None{}, s.Ledger.Once(ctx, "refund")
}

// Ship hands the parcel to the carrier and answers its tracking number.
func (s *Shop) Ship(ctx context.Context, _ Parcel) (string, error) {
	if err := s.begin(ctx, Progress{}); err != nil {
		return "", err
	}
	return reference(ctx, "TRK"), s.Ledger.Once(ctx, "ship")
}

// begin notes the attempt and tells who watches.
func (s *Shop) begin(ctx context.Context, p Progress) error {
	if err := s.Ledger.Attempt(ctx); err != nil {
		return err
	}
	p.Started = true
	s.tell(ctx, p)
	return nil
}

func (s *Shop) tell(ctx context.Context, p Progress) {
	if s.Watch == nil {
		return
	}
	info := activity.GetInfo(ctx)
	p.Instance, p.Activity, p.Event = info.InstanceID, info.Activity, info.EventID
	p.Attempt, p.Delivery = info.Attempt, info.Deliveries
	s.Watch(p)
}

// reference is the number under which the outside world knows a call: the same for all of its attempts.
func reference(ctx context.Context, kind string) string {
	h := fnv.New32a()
	h.Write([]byte(activity.IdempotencyKey(ctx)))
	return fmt.Sprintf("%s-%08X", kind, h.Sum32())
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
