package cleanup_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/cleanup"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// book adds the activities of a hotel. It returns what the hotel has done so far.
func book(e *orchestrationtest.Env) *[]string {
	var done []string
	hotel := &cleanup.Hotel{Log: func(text string) { done = append(done, text) }}
	orchestrationtest.AddActivity(e, hotel.Book)
	orchestrationtest.AddActivity(e, hotel.Cancel)
	orchestrationtest.AddActivity(e, hotel.Queue)
	return &done
}

func TestFailedTripIsUndone(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		done := book(e)
		_, err := orchestrationtest.Start(e, cleanup.Trip, []string{"room", "flight", "moon"}, client.WithID("trip-1")).Wait(e.Context())
		if err == nil || err.Error() != `instance "trip-1" ended as Failed: booking moon: no rocket` {
			t.Error(err)
		}
		if want := []string{"book room", "book flight", "cancel booking of flight", "cancel booking of room"}; !slices.Equal(*done, want) {
			t.Errorf("%q, want %q", *done, want)
		}
	})
}

// callOff cancels a trip and returns the error that it ends with.
func callOff(ctx context.Context, h client.Handle[[]string]) error {
	if err := h.Cancel(ctx, "the customer is ill"); err != nil {
		return err
	}
	_, err := h.Wait(ctx)
	return err
}

func TestCancelledTripIsUndone(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		done := book(e)
		h := orchestrationtest.Start(e, cleanup.Trip, []string{"room"}, client.WithID("trip-2"))
		e.Sleep(30 * time.Minute)
		err := callOff(e.Context(), h.Handle)
		if !errors.Is(err, orchestration.ErrCancelled) || err.Error() != `instance "trip-2" ended as Cancelled: cancelled: the customer is ill` {
			t.Error(err)
		}
		if want := []string{"book room", "cancel booking of room"}; !slices.Equal(*done, want) {
			t.Errorf("%q, want %q", *done, want)
		}
	})
}

func TestFastest(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		book(e)
		if out, err := orchestrationtest.Start(e, cleanup.Fastest, []string{"room"}).Wait(e.Context()); out != "booking of room" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestSlowestIsGivenUp(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		var hotel *cleanup.Hotel
		orchestrationtest.Replace(e, hotel.Book, nil, orchestrationtest.Delay(time.Hour))
		began := time.Now()
		_, err := orchestrationtest.Start(e, cleanup.Fastest, []string{"room"}).Wait(e.Context())
		if !errors.Is(err, client.ErrFailed) || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestPatienceWaitsForTheEnd(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		done := book(e)
		out, err := orchestrationtest.Start(e, cleanup.Patience, "a table").Wait(e.Context())
		if out != "left the queue for a table" || err != nil || !slices.Equal(*done, []string{"queue for a table"}) {
			t.Errorf("%q, %v, %q", out, err, *done)
		}
	})
}

// A trip that cannot be booked within a day is undone.
func TestTripHasADay(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		done := book(e)
		orchestrationtest.AddOrchestration(e, cleanup.Trip)
		h, err := cleanup.Start(e.Context(), e.Client(), []string{"room", "queue"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Wait(e.Context()); err != nil && !errors.Is(err, orchestration.ErrTimeout) {
			t.Error(err)
		}
		if d, err := h.Describe(e.Context()); err != nil || d.Limit == nil || d.Limit.Limit != 24*time.Hour || len(*done) == 0 {
			t.Errorf("%+v, %v, %q", d.Limit, err, *done)
		}
	})
}
