package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/local"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Till has methods to register at once.
type Till struct{ fee int } //nolint:recvcheck // methods of both kinds are tested

// Charge is an activity.
func (t *Till) Charge(_ context.Context, n int) (int, error) { return n + t.fee, nil }

// Quote is an activity of a value.
func (t Till) Quote(_ context.Context, n int) (int, error) { return n + 10*t.fee, nil }

// Refund is an activity that fails.
func (t *Till) Refund(context.Context, int) (int, error) { return 0, errShut }

// Close is no activity.
func (t *Till) Close() error { return nil }

var errShut = errors.New("the till is shut")

// Stand promotes Charge and Quote, and has a Refund of its own.
type Stand struct{ Till }

// Refund is an activity.
func (s *Stand) Refund(_ context.Context, n int) (int, error) { return -n, nil }

// Jar is generic.
type Jar[T any] struct{ last T }

// Put is an activity.
func (j *Jar[T]) Put(_ context.Context, v T) (T, error) {
	was := j.last
	j.last = v
	return was, nil
}

// tillCalls are calls of methods, and what comes of them: the output, or part of what is shown of the failed or blocked instance.
var tillCalls = map[string]struct {
	add  func(reg *runtime.Registry) error
	call func(ctx *octx, n int) (int, error)
	want string
}{
	"method": {plainTill, activityCall((&Till{}).Charge), "10"},
	// Nothing of the receiver shows in a method value, as after AddActivity.
	"method of a nil receiver":        {plainTill, activityCall((*Till)(nil).Charge), "10"},
	"method of a value":               {plainTill, activityCall(Till{}.Quote), "37"},
	"method of a value by a pointer":  {plainTill, activityCall((&Till{}).Quote), "37"},
	"promoted method of another type": {plainTill, activityCall(Stand{}.Quote), "37"},
	"method by its name":              {plainTill, namedCall("Till.Charge"), "10"},
	"local": {plainTill, func(ctx *octx, n int) (int, error) {
		return orchestration.CallLocal(ctx, (&Till{}).Charge, n)
	}, "10"},
	"method that fails":   {plainTill, activityCall((&Till{}).Refund), "the till is shut"},
	"method left out":     {plainTill, namedCall("Till.Close"), "nothing"},
	"own among promoted":  {addMethods(&Stand{}, runtime.Except("Charge", "Quote", "Close")), activityCall((&Stand{}).Refund), "-7"},
	"another type":        {addMethods(&Stand{}, runtime.Except("Charge", "Quote", "Close")), activityCall((&Till{}).Refund), `"Till.Refund" is not registered`},
	"prefix, by name":     {tillAs("shop."), namedCall("shop.Charge"), "10"},
	"prefix, defined":     {tillAs("shop."), activityCall(activity.Define("shop.Quote", (&Till{}).Quote)), "37"},
	"prefix, by function": {tillAs("shop."), activityCall((&Till{}).Charge), `method "Till.Charge" is registered as ["shop.Charge"]`},
	"generic with prefix": {func(reg *runtime.Registry) error {
		return runtime.AddActivities(reg, &Jar[int]{last: 4}, runtime.Prefix("jar."))
	}, namedCall("jar.Put"), "4"},
	"function of the name": {shadowTill, activityCall((&Till{}).Charge), "registered with another function"},
	"receiver beside a prefix": {func(reg *runtime.Registry) error {
		return errors.Join(tillAs("eu.")(reg), runtime.AddActivity(reg, (&Till{fee: 9}).Charge))
	}, activityCall((&Till{}).Charge), `under the names ["Till.Charge" "eu.Charge"]`},
}

func addMethods(receiver any, opts ...runtime.ActivitiesOption) func(*runtime.Registry) error {
	return func(reg *runtime.Registry) error { return runtime.AddActivities(reg, receiver, opts...) }
}

func plainTill(reg *runtime.Registry) error {
	return runtime.AddActivities(reg, &Till{fee: 3}, runtime.Except("Close"))
}

func tillAs(prefix string) func(*runtime.Registry) error {
	return addMethods(&Till{fee: 3}, runtime.Prefix(prefix), runtime.Except("Close"))
}

// shadowTill registers another function under the name of a method.
func shadowTill(reg *runtime.Registry) error {
	return runtime.AddActivity(reg, activity.Define("Till.Charge", maker()))
}

func activityCall(fn func(context.Context, int) (int, error)) func(*octx, int) (int, error) {
	return func(ctx *octx, n int) (int, error) { return orchestration.CallActivity(ctx, fn, n) }
}

func namedCall(name string) func(*octx, int) (int, error) {
	return func(ctx *octx, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, name, n, orchestration.WithScheduleToStartTimeout(time.Minute))
	}
}

// Methods that were registered at once are called by function or by name. What a method value cannot say fails the turn, and never runs
// on another receiver.
func TestHazard127_MethodsAreKnownByTypeAndMethod(t *testing.T) {
	t.Parallel()
	for name, c := range tillCalls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := runtime.NewRegistry()
				main := orchestration.Define("main", c.call)
				if err := errors.Join(c.add(reg), runtime.AddOrchestration(reg, main)); err != nil {
					e.T.Fatal(err)
				}
				e.Start(reg)
				h, err := client.Start(e.T.Context(), clienttest.New(e.T, e.Store, client.Options{}), main, 7)
				if err != nil {
					e.T.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(e.T.Context(), time.Hour)
				defer cancel()
				n, err := h.Wait(ctx, client.OrBlocked())
				got := fmt.Sprint(n)
				if err != nil {
					got = err.Error()
				}
				if blocked, ok := errors.AsType[*client.BlockedError](err); ok {
					got = blocked.Message
				}
				if errors.Is(err, orchestration.ErrTimeout) {
					got = "nothing"
				}
				if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
					e.T.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

// Types of one name in two packages can have their methods on two queues under one name. Each is called by its function. A node reads its
// registry in no certain order, so the test starts many nodes.
func TestHazard127_TwoTypesOfOneName(t *testing.T) {
	t.Parallel()
	for range 20 {
		enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
			reg := runtime.NewRegistry()
			main := orchestration.Define("main", func(ctx *octx, n int) (int, error) {
				here, err := orchestration.CallActivity(ctx, (&Shop{}).Price, n)
				if err != nil {
					return 0, err
				}
				there, err := orchestration.CallActivity(ctx, (*local.Shop)(nil).Price, "tea", orchestration.WithQueue("tea"))
				return here + there, err
			})
			err := errors.Join(
				runtime.AddActivities(reg, &Shop{factor: 3}, runtime.Except("Checkout")),
				runtime.AddActivities(reg, &local.Shop{Prices: map[string]int{"tea": 400}}, runtime.OnQueue("tea")),
				runtime.AddOrchestration(reg, main),
			)
			if err != nil {
				e.T.Fatal(err)
			}
			e.Start(reg)
			h, err := client.Start(e.T.Context(), clienttest.New(e.T, e.Store, client.Options{}), main, 7)
			if err != nil {
				e.T.Fatal(err)
			}
			if got, err := h.Wait(e.T.Context(), client.OrBlocked()); err != nil || got != 421 {
				e.T.Errorf("got %d, %v, want 421", got, err)
			}
		})
	}
}

// A method value shows neither its receiver nor the field that a method is promoted from. So a second receiver of a type and promoted methods
// are refused, with a prefix, too. Each mistake is named.
func TestHazard127_OneReceiverOfAType(t *testing.T) {
	t.Parallel()
	one := &Till{fee: 1}
	cases := map[string]struct {
		first, second func(*runtime.Registry) error
		want          string
	}{
		"two receivers":             {plainTill, plainTill, "another receiver of that type"},
		"two receivers, two names":  {tillAs("eu."), tillAs("us."), "another receiver of that type"},
		"a receiver under two":      {addMethods(one, runtime.Prefix("a."), runtime.Except("Close")), addMethods(one, runtime.Prefix("b."), runtime.Except("Close")), ""},
		"promoted":                  {tillAs("eu."), addMethods(&Stand{}, runtime.Except("Close", "Quote")), "Charge is promoted"},
		"promoted of a value":       {tillAs("eu."), addMethods(&Stand{}, runtime.Except("Close", "Charge")), "Quote is promoted"},
		"promoted with a prefix":    {tillAs("eu."), addMethods(&Stand{}, runtime.Prefix("x."), runtime.Except("Close", "Quote")), "Charge is promoted"},
		"promoted from a pointer":   {tillAs("eu."), addMethods(&counter{one}, runtime.Except("Close", "Quote", "Refund")), "Charge is promoted"},
		"promoted and left out":     {tillAs("eu."), addMethods(&Stand{}, runtime.Except("Close", "Quote", "Charge")), ""},
		"registered by itself, too": {plainTill, func(reg *runtime.Registry) error { return runtime.AddActivity(reg, one.Quote) }, "the name is in use"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := runtime.NewRegistry()
			if err := c.first(reg); err != nil {
				t.Fatal(err)
			}
			err := c.second(reg)
			if c.want == "" && err == nil {
				return
			}
			if c.want == "" || !errors.Is(err, runtime.ErrRegistration) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("returned %v, want %q", err, c.want)
			}
		})
	}
}

// counter promotes the methods of a pointer.
type counter struct{ *Till }

// A refused receiver leaves nothing in the registry, and Start returns why. The options of AddActivity count for each method.
func TestAddActivitiesIsWhole(t *testing.T) {
	t.Parallel()
	reg := runtime.NewRegistry()
	err := runtime.AddActivities(reg, &Till{})
	if !errors.Is(err, runtime.ErrRegistration) || !strings.Contains(err.Error(), `Close is a func() error`) || strings.Contains(err.Error(), "Quote") {
		t.Errorf("returned %v", err)
	}
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		if _, again := runtime.Start(e.T.Context(), e.Store, reg, runtime.Options{}); !errors.Is(again, err) {
			e.T.Errorf("Start returned %v", again)
		}
	})
	if err := runtime.AddActivity(reg, (&Till{}).Quote); err != nil {
		t.Errorf("a refused receiver has left a method: %v", err)
	}
	err = runtime.AddActivities(reg, &Till{}, runtime.Except("Close", "Charge"), runtime.Prefix("Till."))
	if err == nil || strings.Contains(err.Error(), "Refund") {
		t.Errorf("of a name in use: returned %v", err)
	}
	if err := runtime.AddActivity(reg, (&Till{}).Refund); err != nil {
		t.Error(err)
	}
	err = runtime.AddActivities(reg, &Till{}, runtime.Except("Close"))
	want := `"Till.Quote": the name is in use: give another one with Define; "Till.Refund": the name is in use`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("of names in use: returned %v, want %s", err, want)
	}
	pooled := runtime.NewRegistry()
	if err := runtime.AddActivities(pooled, &Till{}, runtime.Except("Close"), runtime.InPool("cpu")); err != nil {
		t.Fatal(err)
	}
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		if _, err := runtime.Start(e.T.Context(), e.Store, pooled, runtime.Options{}); err == nil || !strings.Contains(err.Error(), "is in pool") {
			e.T.Errorf("Start returned %v", err)
		}
	})
}
