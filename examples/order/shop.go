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

// PackSteps is the number of steps of [Shop.Pack]. Each step is reported as a heartbeat.
const PackSteps = 10

// Shop is the external world of an order's activities.
type Shop struct {
	Ledger *Ledger
	// StepTime is the duration of a packing step.
	StepTime time.Duration
	// Watch, if not nil, is called for each attempt and each step of packing.
	Watch func(Progress)
}

// Progress is the argument of Shop.Watch.
type Progress struct {
	Instance string `json:"instance"`
	Activity string `json:"activity"`
	Event    int64  `json:"event"` // event that scheduled the activity
	Attempt  int    `json:"attempt"`
	Delivery int    `json:"delivery"`
	Started  bool   `json:"started,omitempty"` // an attempt begins
	Fails    string `json:"fails,omitempty"`   // why an attempt fails
	Resumed  bool   `json:"resumed,omitempty"` // resumes after Step, which an earlier attempt reported
	Step     int    `json:"step,omitempty"`    // packing step
	Total    int    `json:"total,omitempty"`
}

// Reservation is stock reserved for an order.
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

// errBusy is the failure that Reserve returns on purpose.
var errBusy = errors.New("warehouse is busy, try again")

// Reserve reserves stock. Its first attempt fails on purpose, to show the retry.
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

// Release releases the stock.
func (s *Shop) Release(ctx context.Context, _ Reservation) (orchestration.None, error) {
	if err := s.begin(ctx, Progress{}); err != nil {
		return orchestration.None{}, err
	}
	return orchestration.None{}, s.Ledger.Once(ctx, "release")
}

// Pack reports each step as a heartbeat. An attempt that follows a lost one resumes after the last stored step.
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
		// A step that was done but not reported when the process died runs again with the same key, so the ledger
		// drops it.
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

// Charge charges the customer and returns the payment. A declined charge is not retried.
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

// Refund refunds a payment.
func (s *Shop) Refund(ctx context.Context, _ string) (orchestration.None, error) {
	if err := s.begin(ctx, Progress{}); err != nil {
		return orchestration.None{}, err
	}
	return orchestration.None{}, s.Ledger.Once(ctx, "refund")
}

// Ship hands the parcel to the carrier and returns its tracking number.
func (s *Shop) Ship(ctx context.Context, _ Parcel) (string, error) {
	if err := s.begin(ctx, Progress{}); err != nil {
		return "", err
	}
	return reference(ctx, "TRK"), s.Ledger.Once(ctx, "ship")
}

// begin records the attempt and calls Watch.
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

// reference returns the identifier of a call in the external world. It is the same for all of its attempts.
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
