package order

import (
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/orchestration"
)

// ApprovalEvent is the name of the event that [Process] waits for.
const ApprovalEvent = "approval"

// ApprovalTime is the timeout of [Process] for the approval.
const ApprovalTime = 24 * time.Hour

// PickupDelay is the time until the carrier picks up the parcel.
const PickupDelay = time.Second

// ErrDeclined is the error of a bank that declines a charge.
var ErrDeclined = errors.New("card declined")

// process takes an order from stock to the carrier.
func process(ctx *orchestration.Context, o Order) (Receipt, error) {
	s := &saga{receipt: Receipt{Order: o.ID, TotalCents: o.Total()}}
	refused, err := s.run(ctx, o)
	if refused == "" && err == nil {
		s.receipt.Status = Shipped
		return s.receipt, nil
	}
	// Detached, so that a cancelled order is undone, too.
	if undoErr := s.undo(ctx.Detached()); undoErr != nil {
		return s.receipt, errors.Join(err, undoErr)
	}
	s.receipt.Status, s.receipt.Reason = Refused, refused
	return s.receipt, err
}

// saga is an order in progress, with the steps to undo if it fails.
type saga struct {
	receipt Receipt
	undos   []func(*orchestration.Context) error
}

// run returns why the order was refused, or "".
func (s *saga) run(ctx *orchestration.Context, o Order) (refused string, err error) {
	do := activitiesOf(nil) // never called here: it only names the activities
	reservation, err := orchestration.CallActivity(ctx, do.reserve, o, patiently()...)
	if err != nil {
		return "", err
	}
	s.onRefusal(func(ctx *orchestration.Context) error {
		_, err := orchestration.CallActivity(ctx, do.release, reservation, patiently()...)
		return s.undone("release stock", err)
	})

	// The warehouse packs while a person decides.
	packing := orchestration.StartActivity(ctx, do.pack, reservation, patiently()...)
	s.onRefusal(func(ctx *orchestration.Context) error {
		parcel, err := packing.Get(ctx)
		if err != nil {
			return nil //nolint:nilerr // packing was cancelled, so there is no parcel to unpack
		}
		_, err = orchestration.CallActivity(ctx, do.unpack, parcel, patiently()...)
		return s.undone("unpack", err)
	})
	approval, err := orchestration.Events[Approval](ctx, ApprovalEvent).Receive(ctx, orchestration.Within(ApprovalTime))
	if errors.Is(err, orchestration.ErrTimeout) {
		approval, err = Approval{Reason: "no approval in time"}, nil
	}
	if err != nil {
		return "", err
	}
	if !approval.Approved {
		return "approval: " + approval.Reason, nil
	}
	parcel, err := packing.Get(ctx)
	if err != nil {
		return "", err
	}

	s.receipt.Payment, err = orchestration.CallActivity(ctx, do.charge, o, patiently()...)
	if errors.Is(err, ErrDeclined) {
		return "payment: " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	s.onRefusal(func(ctx *orchestration.Context) error {
		_, err := orchestration.CallActivity(ctx, do.refund, s.receipt.Payment, patiently()...)
		return s.undone("refund", err)
	})

	if err := ctx.Sleep(PickupDelay); err != nil {
		return "", err
	}
	s.receipt.Tracking, err = orchestration.CallActivity(ctx, do.ship, parcel, patiently()...)
	return "", err
}

func (s *saga) onRefusal(undo func(*orchestration.Context) error) { s.undos = append(s.undos, undo) }

// undone records a compensation.
func (s *saga) undone(name string, err error) error {
	if err == nil {
		s.receipt.Undone = append(s.receipt.Undone, name)
	}
	return err
}

// undo runs the compensations, last step first. If one fails, the others still run.
func (s *saga) undo(ctx *orchestration.Context) error {
	var errs []error
	for _, undo := range slices.Backward(s.undos) {
		errs = append(errs, undo(ctx))
	}
	return errors.Join(errs...)
}

// patiently retries soon at first, so that the demo is quick. A call that is under way when the order is cancelled ends
// first, unless its node is lost, so that its effect is undone, too.
func patiently() []orchestration.ActivityOption {
	return []orchestration.ActivityOption{
		orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 5, InitialInterval: 200 * time.Millisecond}),
		orchestration.WithCancellation(orchestration.WaitForEnd),
	}
}

// Process takes an order from stock to the carrier.
//
//nolint:gochecknoglobals // constant: a function with a name
var Process = orchestration.Define(ProcessName, process)
