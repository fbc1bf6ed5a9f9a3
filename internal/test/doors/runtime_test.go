package doors_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

var (
	registration   = kind{"runtime.ErrRegistration", runtime.ErrRegistration}
	runtimeInvalid = kind{"runtime.ErrInvalid", runtime.ErrInvalid}
)

func Charge(_ context.Context, cents int) (int, error) { return cents, nil }

func genericActivity[T any](_ context.Context, in T) (T, error) { return in, nil }

type till struct{ fee int }

func (t *till) Charge(_ context.Context, cents int) (int, error) { return cents + t.fee, nil }

var sameTill = &till{1}

// desk has methods that are no activities.
type desk struct{ *till }

func (*desk) Close() error                                      { return nil }
func (*desk) Watch(context.Context, int) (chan int, error)      { return nil, nil }
func (*desk) Open(_ context.Context, name string) (bool, error) { return name != "", nil }

type bag[T any] struct{ in []T }

func (b *bag[T]) Put(_ context.Context, v T) (int, error) {
	b.in = append(b.in, v)
	return len(b.in), nil
}

type withHook struct{ Hook func() }

type declined struct{ Code int }

func (*declined) Error() string { return "declined" }

type uncomparable struct{ Codes []int }

func (uncomparable) Error() string { return "uncomparable" }

type unstorable struct{ C chan int }

func (*unstorable) Error() string { return "unstorable" }

var errDeclined, errOther = errors.New("declined"), errors.New("other")

func fillingRegistries() section {
	return section{
		title: "Registry",
		intro: "Refused functions are not registered, and `runtime.Start` returns all errors of its registry.",
		rows: func(t *testing.T, _ *world) []row {
			// with makes several calls on a new registry and returns the error of the last.
			with := func(calls ...func(*runtime.Registry) error) func(context.Context) error {
				return func(context.Context) error {
					reg := runtime.NewRegistry()
					var err error
					for _, call := range calls {
						err = call(reg)
					}
					return err
				}
			}
			orc := func(fn func(*orchestration.Context, string) (string, error)) func(*runtime.Registry) error {
				return func(r *runtime.Registry) error { return runtime.AddOrchestration(r, fn) }
			}
			act := func(fn func(context.Context, int) (int, error), opts ...runtime.RegisterOption) func(*runtime.Registry) error {
				return func(r *runtime.Registry) error { return runtime.AddActivity(r, fn, opts...) }
			}
			sentinel := func(name string, err error) func(*runtime.Registry) error {
				return func(r *runtime.Registry) error { return runtime.AddError(r, name, err) }
			}
			many := func(receiver any, opts ...runtime.ActivitiesOption) func(*runtime.Registry) error {
				return func(r *runtime.Registry) error { return runtime.AddActivities(r, receiver, opts...) }
			}
			falls := func(opts []runtime.RegisterOption, names ...string) func(*runtime.Registry) error {
				return func(r *runtime.Registry) error {
					return runtime.AddActivityFallback(r, names, func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil }, opts...)
				}
			}
			urgent := runtime.Defaults(orchestration.WithPriority(1))
			named := func(name string) func(*runtime.Registry) error { return act(activity.Define(name, Charge)) }
			closure := func(_ context.Context, n int) (int, error) { return n + len(t.Name()), nil }
			return []row{
				{"a nil registry", func(context.Context) error { return runtime.AddOrchestration(nil, Checkout) }, registration, `registering orchestration "Checkout": registration refused: the registry is nil: make one with runtime.NewRegistry`, "Make it first."},
				{"a nil registry for an error", func(context.Context) error { return runtime.AddError(nil, "declined", errDeclined) }, registration, `registering error "declined": registration refused: the registry is nil: make one with runtime.NewRegistry`, "Make it first."},
				{"a nil orchestration", with(orc(nil)), registration, "registering an orchestration: registration refused: the function is nil: give one", "Methods of nil pointers are not nil; plain variables are."},
				{"a nil activity", with(act(nil)), registration, "registering an activity: registration refused: the function is nil: give one", "Methods of nil pointers are not nil; plain variables are."},
				{"a nil function under a name", with(act(activity.Define[int, int]("charge", nil))), registration, `registering activity "charge": registration refused: the function is nil: give one`, "Give `Define` a function."},
				{"`activity.NoIn` of nil", func(context.Context) error {
					return runtime.AddActivity(runtime.NewRegistry(), activity.NoIn[int]("charge", nil))
				}, registration, `registering activity "charge": registration refused: the function is nil: give one`, "Give `NoIn` a function."},
				{"`activity.NoOut` of nil", func(context.Context) error {
					return runtime.AddActivity(runtime.NewRegistry(), activity.NoOut[int]("charge", nil))
				}, registration, `registering activity "charge": registration refused: the function is nil: give one`, "Give `NoOut` a function."},
				{"a closure", with(act(closure)), registration, `registering an activity: registration refused: function has no name to be stored under: SYMBOL is a closure, and the compiler changes the names of closures as it likes: name it with Define("name", fn) and use the result in its place`, "Name it once, in a package variable, and register and call that."},
				{"a generic function", with(act(genericActivity[int])), registration, `registering an activity: registration refused: function has no name to be stored under: SYMBOL is an instance of a generic function or type, and all instances share that name: name it with Define("name", fn) and use the result in its place`, "Name each instance of it with `Define`."},
				{"an empty name", with(named("")), registration, "registering an activity: registration refused: activity name is empty: give 1 to 512 bytes of UTF-8", "Give a name."},
				{"a name of 513 bytes", with(named(long)), registration, `registering activity "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"...: registration refused: activity name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "Shorten it."},
				{"a name that is not UTF-8", with(named("\xff")), registration, `registering activity "\xff": registration refused: activity name "\xff" is not valid UTF-8: encode it, as hex for example`, "Encode it."},
				{"a name with NUL", with(named("a\x00b")), registration, `registering activity "a\x00b": registration refused: activity name "a\x00b" has a NUL byte: take it out`, "Take it out."},
				{"a name twice", with(act(Charge), act(Charge)), registration, `registering activity "Charge": registration refused: the name is in use: give another one with Define`, "Two methods of one type share a name: name one of them with `Define`."},
				{"`OnQueue(\"\")`", with(act(Charge, runtime.OnQueue(""))), registration, `registering activity "Charge": registration refused: queue name is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out for the queue `default`."},
				{"`OnQueue` of 513 bytes", with(act(Charge, runtime.OnQueue(long))), registration, `registering activity "Charge": registration refused: queue name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "Shorten it."},
				{"`MaxConcurrent(0)`", with(act(Charge, runtime.MaxConcurrent(0))), registration, `registering activity "Charge": registration refused: MaxConcurrent is 0: give 1 or more, or leave it out`, "Without the option `MaxConcurrentActivities` alone bounds it."},
				{"`AutoHeartbeat(time.Millisecond)`", with(act(Charge, runtime.AutoHeartbeat(time.Millisecond))), registration, `registering activity "Charge": registration refused: AutoHeartbeat is 1ms: give 100ms or more, or Off (-1) for none`, "Each beat renews a lease in the store."},
				{"`InPool(\"\")`", with(act(Charge, runtime.InPool(""))), registration, `registering activity "Charge": registration refused: pool name is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out for no pool."},
				{"`Defaults` with an option that is not allowed", with(act(Charge, runtime.Defaults(orchestration.WithPriority(9)))), registration, `registering activity "Charge": registration refused: Defaults: priority is 9: give 1 (first) to 5`, "Give what a call may have."},
				{"`Defaults` with 1,025 bytes of type names", with(act(Charge, runtime.Defaults(orchestration.WithRetry(orchestration.RetryPolicy{NonRetryable: []string{strings.Repeat("x", 1025)}})))), registration, `registering activity "Charge": registration refused: Defaults: retry policy: NonRetryable has 1025 bytes, and a default has at most 1024: give the policy with the calls`, "Name fewer types, or give the policy with each call."},
				{"`Defaults` on two queues", with(act(Charge, urgent, runtime.OnQueue("cards")), act(Charge, urgent)), registration, `registering activity "Charge": registration refused: queue "cards" has it with Defaults, which count for the calls of all queues: give them once`, "Leave the option out of one registration."},
				{"`AddActivities` with a nil registry", func(context.Context) error { return runtime.AddActivities(nil, &till{}) }, registration, `registering activities of "*doors_test.till": registration refused: the registry is nil: make one with runtime.NewRegistry`, "Make it first."},
				{"`AddActivities` of nil", with(many(nil)), registration, `registering activities of "<nil>": registration refused: give a pointer to a value of a named type that has methods, such as &svc`, "Make the receiver first."},
				{"`AddActivities` of a nil pointer", with(many((*till)(nil))), registration, `registering activities of "*doors_test.till": registration refused: give a pointer to a value of a named type that has methods, such as &svc`, "Make the receiver first."},
				{"`AddActivities` of a value", with(many(till{})), registration, `registering activities of "doors_test.till": registration refused: give a pointer to a value of a named type that has methods, such as &svc`, "Give its address."},
				{"`AddActivities` with methods that are no activities", with(many(&desk{})), registration, `registering activities of "*doors_test.desk": registration refused: Charge is promoted from an embedded field, whose value can be registered itself; Close is a func() error and no func(context.Context, In) (Out, error); Watch is refused: output: type cannot be stored as JSON: chan int: chan: take it out, or tag the field ` + "`json:\"-\"`" + `: change that, or add runtime.Except("Charge", "Close", "Watch")`, "Nothing is registered. Give the methods the form of an activity, or leave them out."},
				{"`AddActivities` with no method left", with(many(&till{}, runtime.Except("Charge"))), registration, `registering activities of "*doors_test.till": registration refused: no exported method is left: give a receiver that has one, or leave out the call`, "Look at `Except`."},
				{"`Except` of what it has not", with(many(&till{}, runtime.Except("Refund"))), registration, `registering activities of "*doors_test.till": registration refused: Except names "Refund", which it does not have as an exported method: leave it out`, "Give bare names, such as `Close`."},
				{"`Prefix(\"\")`", with(many(&till{}, runtime.Prefix(""))), registration, `registering activities of "*doors_test.till": registration refused: prefix is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out for no prefix."},
				{"`AddActivities` with a prefix of perdure", with(many(&till{}, runtime.Prefix("perdure."))), registration, `registering activities of "*doors_test.till": registration refused: Charge is refused: names that begin with perdure. belong to perdure itself: choose another one: change that, or add runtime.Except("Charge")`, "Choose another prefix."},
				{"`AddActivities` of two receivers of a type", with(many(&till{1}, runtime.Prefix("eu.")), many(&till{2}, runtime.Prefix("us."))), registration, `registering activities of "*doors_test.till": registration refused: another receiver of that type is registered, and a method does not show its receiver: register the methods of this one with AddActivity and activity.Define`, "Name its methods one by one."},
				{"`AddActivities` of the same twice", with(many(sameTill), many(sameTill)), registration, `registering activities of "*doors_test.till": registration refused: "till.Charge": the name is in use: give another one with Define`, "Register it once."},
				{"`AddActivities` of a generic type", with(many(&bag[int]{})), registration, `registering activities of "*doors_test.bag[int]": registration refused: Put is of a type whose methods have no lasting name, and needs a Prefix: change that, or add runtime.Except("Put")`, "Give `Prefix`."},
				{"`AddActivityFallback` of everything", with(falls(nil, "*")), registration, `registering activity fallback "*": registration refused: "*" stands for all names, and would take those of services that are not deployed yet: give the beginning of names, such as "mail.*"`, "Nodes of other services would lose their work in a deploy."},
				{"`AddActivityFallback` of no name", with(falls(nil)), registration, `registering an activity fallback: registration refused: no name is given: give names, or beginnings of names such as "mail.*"`, "Name what it stands for."},
				{"`AddActivityFallback` of names of perdure", with(falls(nil, "perd*")), registration, `registering activity fallback "perd*": registration refused: "perd*" holds names that begin with perdure., which belong to perdure itself: choose others`, "Choose other names."},
				{"`AddActivityFallback` of a name twice", with(falls(nil, "mail.*"), falls(nil, "sms.*", "mail.*")), registration, `registering activity fallback "sms.*, mail.*": registration refused: "mail.*" has a fallback already: give each name one`, "Register it once."},
				{"`AddActivityFallback` with another option", with(falls([]runtime.RegisterOption{runtime.MaxConcurrent(2)}, "mail.*")), registration, `registering activity fallback "mail.*": registration refused: only the option OnQueue fits a fallback: leave the others out`, "Register the names that need the option."},
				{"a nil option", with(act(Charge, nil)), registration, `registering activity "Charge": registration refused: an option is nil: leave it out`, "Build the list of options without holes."},
				{"an input with a function", func(context.Context) error {
					return runtime.AddActivity(runtime.NewRegistry(), activity.Define("x", func(context.Context, withHook) (int, error) { return 0, nil }))
				}, registration, "registering activity \"x\": registration refused: input: type cannot be stored as JSON: withHook.Hook: func: take it out, or tag the field `json:\"-\"`", "Store data, not channels, functions or locks."},
				{"a channel as output", func(context.Context) error {
					return runtime.AddOrchestration(runtime.NewRegistry(), orchestration.Define("x", func(*orchestration.Context, int) (chan int, error) { return nil, nil }))
				}, registration, "registering orchestration \"x\": registration refused: output: type cannot be stored as JSON: chan int: chan: take it out, or tag the field `json:\"-\"`", "Store data, not channels, functions or locks."},
				{"an interface as input", func(context.Context) error {
					return runtime.AddActivity(runtime.NewRegistry(), activity.Define("x", func(context.Context, error) (int, error) { return 0, nil }))
				}, registration, `registering activity "x": registration refused: input: type cannot be stored as JSON: error: interface error: decoding cannot know which type it held; use a concrete type or any`, "Use the type behind it."},
				{"`AddError` of nil", with(sentinel("declined", nil)), registration, `registering error "declined": registration refused: the error is nil: give a value that errors.Is can find`, "Register the variable that user code returns."},
				{"`AddError` of a nil pointer", with(sentinel("declined", (*declined)(nil))), registration, `registering error "declined": registration refused: the error is nil: give a value that errors.Is can find`, "Use `AddErrorType` for types."},
				{"`AddError` with an empty name", with(sentinel("", errDeclined)), registration, "registering an error: registration refused: error name is empty: give 1 to 512 bytes of UTF-8", "The name is stored and must never change."},
				{"`AddError`, name in use", with(sentinel("declined", errDeclined), sentinel("declined", errOther)), registration, `registering error "declined": registration refused: the name "declined" is given to another error: choose another one`, "Give each error its own name."},
				{"`AddError`, the same error twice", with(sentinel("declined", errDeclined), sentinel("refused", errDeclined)), registration, `registering error "refused": registration refused: the same error is already registered as "declined": register it once`, "One error has one name."},
				{"`AddError` of an error of the engine", with(sentinel("timeout", orchestration.ErrTimeout)), registration, `registering error "timeout": registration refused: it is the engine's own "timed out", which keeps its identity by itself: leave it out`, "`errors.Is` finds it as it is."},
				{"`AddError` of a value that cannot be compared", with(sentinel("codes", uncomparable{})), registration, `registering error "codes": registration refused: values of doors_test.uncomparable cannot be compared: make it a pointer, or register its type`, "Use `AddErrorType`, or a pointer."},
				{"`AddErrorType` of an interface", func(context.Context) error { return runtime.AddErrorType[error](runtime.NewRegistry(), "error") }, registration, `registering error type "error": registration refused: error is an interface: give the type behind it`, "Name the type that is returned."},
				{"`AddErrorType` of a type that JSON cannot hold", func(context.Context) error {
					return runtime.AddErrorType[*unstorable](runtime.NewRegistry(), "unstorable")
				}, registration, "registering error type \"unstorable\": registration refused: type cannot be stored as JSON: unstorable.C: chan: take it out, or tag the field `json:\"-\"`", "Tag the field `json:\"-\"`."},
				{"`AddErrorType` of `*orchestration.Error`", func(context.Context) error {
					return runtime.AddErrorType[*orchestration.Error](runtime.NewRegistry(), "error")
				}, registration, `registering error type "error": registration refused: the engine's own *orchestration.Error keeps its identity by itself: leave it out`, "`errors.As` finds it as it is."},
				{"`AddErrorType`, the same type twice", with(
					func(r *runtime.Registry) error { return runtime.AddErrorType[*declined](r, "a") },
					func(r *runtime.Registry) error { return runtime.AddErrorType[*declined](r, "b") },
				), registration, `registering error type "b": registration refused: type *doors_test.declined is already registered as "a": register it once`, "One type has one name."},
			}
		},
	}
}

func startingRuntimes() section {
	return section{
		title: "runtime.Start and its options",
		intro: "Nothing is started, and the store is not read or written.",
		rows: func(t *testing.T, store *world) []row {
			reg := runtime.NewRegistry()
			if err := runtime.AddOrchestration(reg, Checkout); err != nil {
				t.Fatal(err)
			}
			try := func(store provider.Provider, reg *runtime.Registry, o runtime.Options) func(context.Context) error {
				return func(ctx context.Context) error {
					rt, err := runtime.Start(ctx, store, reg, o)
					if rt != nil {
						t.Error("started all the same")
						_ = rt.Shutdown(ctx)
					}
					return err
				}
			}
			with := func(o runtime.Options) func(context.Context) error { return try(store, reg, o) }
			return []row{
				{"a nil store", try(nil, reg, runtime.Options{}), runtimeInvalid, "starting runtime: invalid request: there is no store: open one first", "Open a store, and check the error."},
				{"a nil `*sqlite.Provider`", try(absent, reg, runtime.Options{}), runtimeInvalid, "starting runtime: invalid request: there is no store: open one first", "Check the error of `sqlite.Open`."},
				{"a nil registry", try(store, nil, runtime.Options{}), runtimeInvalid, "starting runtime: invalid request: the registry is nil: make one with runtime.NewRegistry", "Make it first."},
				{"an empty registry", try(store, runtime.NewRegistry(), runtime.Options{}), runtimeInvalid, "starting runtime: invalid request: the registry is empty: add orchestrations or activities first", "A node that can do nothing is a mistake: check that the registration ran."},
				{"a zero `Registry`", try(store, &runtime.Registry{}, runtime.Options{}), runtimeInvalid, "starting runtime: invalid request: the registry is empty: add orchestrations or activities first", "A zero one works like a new one: it is empty."},
				{"a registry that has refused something", func(ctx context.Context) error {
					reg := runtime.NewRegistry()
					_ = runtime.AddOrchestration[string, string](reg, nil)
					return try(store, reg, runtime.Options{})(ctx)
				}, registration, "starting runtime: registering an orchestration: registration refused: the function is nil: give one", "Check the errors of `AddOrchestration` and `AddActivity`."},
				{"a nil context", func(ctx context.Context) error { return with(runtime.Options{})(lost(ctx)) }, runtimeInvalid, "starting runtime: invalid request: the context is nil: pass the caller's, or context.Background()", "The context bounds starting only."},
				{"`Name` of 257 bytes", with(runtime.Options{Name: long[:257]}), runtimeInvalid, `starting runtime: invalid request: option Name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 257 bytes: shorten it to 256`, "Shorten it."},
				{"`Name` that is not UTF-8", with(runtime.Options{Name: "\xff"}), runtimeInvalid, `starting runtime: invalid request: option Name "\xff" is not valid UTF-8: encode it, as hex for example`, "Encode it."},
				{"`Name` with NUL", with(runtime.Options{Name: "a\x00"}), runtimeInvalid, `starting runtime: invalid request: option Name "a\x00" has a NUL byte: take it out`, "Take it out."},
				{"`Logger: new(slog.Logger)`", with(runtime.Options{Logger: new(slog.Logger)}), runtimeInvalid, "starting runtime: invalid request: option Logger has no handler: make it with slog.New, or leave it nil for slog.Default()", "Make loggers with `slog.New`."},
				{"`MaxConcurrentTurns: -1`", with(runtime.Options{MaxConcurrentTurns: -1}), runtimeInvalid, "starting runtime: invalid request: option MaxConcurrentTurns is -1: give 1 or more, 0 for 200", "To run no orchestrations, register none."},
				{"`MaxConcurrentActivities: -2`", with(runtime.Options{MaxConcurrentActivities: -2}), runtimeInvalid, "starting runtime: invalid request: option MaxConcurrentActivities is -2: give 1 or more, 0 for 200, or Off (-1) for none", "Only `Off` is a negative value with a meaning."},
				{"`Pools: map[string]int{\"cpu\": 0}`", with(runtime.Options{Pools: map[string]int{"cpu": 0}}), runtimeInvalid, `starting runtime: invalid request: option Pools gives "cpu" the size 0: give 1 or more`, "To run none of its activities, register none."},
				{"`Pools: map[string]int{\"\": 1}`", with(runtime.Options{Pools: map[string]int{"": 1}}), runtimeInvalid, `starting runtime: invalid request: option Pools: pool name is empty: give 1 to 512 bytes of UTF-8`, "Give the name that `InPool` gives."},
				{"an activity in a pool that `Pools` does not have", func(ctx context.Context) error {
					reg := runtime.NewRegistry()
					if err := runtime.AddActivity(reg, Charge, runtime.InPool("cpu")); err != nil { //nolint:contextcheck // registering takes none
						return err
					}
					return try(store, reg, runtime.Options{Pools: map[string]int{"gpu": 1}})(ctx)
				}, runtimeInvalid, `starting runtime: invalid request: activity "Charge" is in pool "cpu", which has no size: give it one in option Pools`, "Check the name."},
				{"`Cache.Executions: -2`", with(runtime.Options{Cache: runtime.CacheOptions{Executions: -2}}), runtimeInvalid, "starting runtime: invalid request: option Cache.Executions is -2: give 1 or more, 0 for 10000, or Off (-1) for none", "Only `Off` is a negative value with a meaning."},
				{"`Cache.Bytes: -1`", with(runtime.Options{Cache: runtime.CacheOptions{Bytes: runtime.Off}}), runtimeInvalid, "starting runtime: invalid request: option Cache.Bytes is -1: give 1 or more, 0 for 268435456", "To cache nothing, set `Cache.Executions: Off`."},
				{"`PoisonLimit: -1`", with(runtime.Options{PoisonLimit: runtime.Off}), runtimeInvalid, "starting runtime: invalid request: option PoisonLimit is -1: give 1 or more, 0 for 20", "Without a limit one task could kill nodes for ever."},
				{"`Lease: -1`", with(runtime.Options{Lease: runtime.Off}), runtimeInvalid, "starting runtime: invalid request: option Lease is -1ns: give more than zero, 0 for 30s", "Without leases a crash would hold work for ever."},
				{"`Lease: 499 * time.Millisecond`", with(runtime.Options{Lease: 499 * time.Millisecond}), runtimeInvalid, "starting runtime: invalid request: option Lease is 499ms: give 500ms to 24h0m0s, 0 for 30s", "Renewals of a shorter one would come too late."},
				{"`Lease: 24*time.Hour + 1`", with(runtime.Options{Lease: 24*time.Hour + 1}), runtimeInvalid, "starting runtime: invalid request: option Lease is 24h0m0.000000001s: give 500ms to 24h0m0s, 0 for 30s", "Leases are renewed: a long one only delays work after a crash."},
				{"`Lease: math.MaxInt64`", with(runtime.Options{Lease: math.MaxInt64}), runtimeInvalid, "starting runtime: invalid request: option Lease is 2562047h47m16.854775807s: give 500ms to 24h0m0s, 0 for 30s", "Leases are renewed: a long one only delays work after a crash."},
				{"`Leaks.GracePeriod: -2`", with(runtime.Options{Leaks: runtime.LeakOptions{GracePeriod: -2}}), runtimeInvalid, "starting runtime: invalid request: option Leaks.GracePeriod is -2ns: give more than zero, 0 for 10s, or Off (-1) for none", "Only `Off` is a negative value with a meaning."},
				{"`Shutdown.DrainTimeout: -time.Second`", with(runtime.Options{Shutdown: runtime.ShutdownOptions{DrainTimeout: -time.Second}}), runtimeInvalid, "starting runtime: invalid request: option Shutdown.DrainTimeout is -1s: give more than zero, 0 for 10s, or Off (-1) for none", "Only `Off` is a negative value with a meaning."},
				{"`DeadlockLimit: math.MinInt64`", with(runtime.Options{DeadlockLimit: math.MinInt64}), runtimeInvalid, "starting runtime: invalid request: option DeadlockLimit is -2562047h47m16.854775808s: give more than zero, 0 for 2s, or Off (-1) for none", "Only `Off` is a negative value with a meaning."},
				{"`Shutdown.ForceTimeout: -2`", with(runtime.Options{Shutdown: runtime.ShutdownOptions{ForceTimeout: -2}}), runtimeInvalid, "starting runtime: invalid request: option Shutdown.ForceTimeout is -2ns: give more than zero, 0 for 5s, or Off (-1) for none", "Only `Off` is a negative value with a meaning."},
				{"`Shutdown.WatchdogTimeout: -2`", with(runtime.Options{Shutdown: runtime.ShutdownOptions{WatchdogTimeout: -2}}), runtimeInvalid, "starting runtime: invalid request: option Shutdown.WatchdogTimeout is -2ns: give more than zero, 0 for 30s, or Off (-1) for none", "Only `Off` is a negative value with a meaning."},
				{"`Heartbeats.DefaultThrottle: -1`", with(runtime.Options{Heartbeats: runtime.HeartbeatOptions{DefaultThrottle: -1}}), runtimeInvalid, "starting runtime: invalid request: option Heartbeats.DefaultThrottle is -1ns: give more than zero, 0 for 30s", "Give a short time to have details stored often."},
				{"`Heartbeats.MaxThrottle: -1`", with(runtime.Options{Heartbeats: runtime.HeartbeatOptions{MaxThrottle: -1}}), runtimeInvalid, "starting runtime: invalid request: option Heartbeats.MaxThrottle is -1ns: give more than zero, 0 for 1m0s", "Give a short time to have details stored often."},
				{"`Heartbeats.Auto: time.Millisecond`", with(runtime.Options{Heartbeats: runtime.HeartbeatOptions{Auto: time.Millisecond}}), runtimeInvalid, "starting runtime: invalid request: option Heartbeats.Auto is 1ms: give 100ms or more, or 0 for none", "Each beat renews a lease in the store."},
				{"`Leaks.InterruptInterval: -2`", with(runtime.Options{Leaks: runtime.LeakOptions{InterruptInterval: -2}}), runtimeInvalid, "starting runtime: invalid request: option Leaks.InterruptInterval is -2ns: give more than zero, 0 for 1s, or Off (-1) for none", "Only `Off` is a negative value with a meaning."},
				{"`Leaks.MaxInterruptInterval: -2`", with(runtime.Options{Leaks: runtime.LeakOptions{MaxInterruptInterval: -2}}), runtimeInvalid, "starting runtime: invalid request: option Leaks.MaxInterruptInterval is -2ns: give more than zero, 0 for 1m0s, or Off (-1) for none", "Only `Off` is a negative value with a meaning."},
				{"`Leaks.GiveUpAfter: -2`", with(runtime.Options{Leaks: runtime.LeakOptions{GiveUpAfter: -2}}), runtimeInvalid, "starting runtime: invalid request: option Leaks.GiveUpAfter is -2ns: give more than zero, 0 for 1h0m0s, or Off (-1) for none", "Only `Off` is a negative value with a meaning."},
				{"`ActivitiesPerSecond: -1`", with(runtime.Options{ActivitiesPerSecond: -1}), runtimeInvalid, `starting runtime: invalid request: option ActivitiesPerSecond is -1: give 0.001 to 1000000, 0 for no limit`, "To run none, set `MaxConcurrentActivities: Off`."},
				{"`ActivitiesPerSecond: NaN`", with(runtime.Options{ActivitiesPerSecond: math.NaN()}), runtimeInvalid, `starting runtime: invalid request: option ActivitiesPerSecond is NaN: give 0.001 to 1000000, 0 for no limit`, "Check how it is computed."},
				{"`QueueLimits: {\"mail\": {PerSecond: 1e9}}`", with(runtime.Options{QueueLimits: map[string]runtime.QueueLimit{"mail": {PerSecond: 1e9}}}), runtimeInvalid, `starting runtime: invalid request: option QueueLimits: PerSecond of "mail" is 1e+09: give 0.001 to 1000000, 0 for no limit`, "Leave it out."},
				{"`QueueLimits: {\"mail\": {MaxConcurrent: -1}}`", with(runtime.Options{QueueLimits: map[string]runtime.QueueLimit{"mail": {MaxConcurrent: -1}}}), runtimeInvalid, `starting runtime: invalid request: option QueueLimits: MaxConcurrent of "mail" is -1: give 1 or more, 0 for no limit`, "To run none, serve the queue nowhere."},
				{"`Propagators: {nil}`", with(runtime.Options{Propagators: []header.Propagator{nil}}), runtimeInvalid, `starting runtime: invalid request: option Propagators: number 1 is nil: leave it out`, "Leave it out."},
				{"`QueueLimits: {\"\": {}}`", with(runtime.Options{QueueLimits: map[string]runtime.QueueLimit{"": {}}}), runtimeInvalid, `starting runtime: invalid request: option QueueLimits: queue name is empty: give 1 to 512 bytes of UTF-8`, "The queue without `OnQueue` is `default`."},
				{"`Queues: {\"\"}`", with(runtime.Options{Queues: []string{""}}), runtimeInvalid, `starting runtime: invalid request: option Queues: queue name is empty: give 1 to 512 bytes of UTF-8`, "The queue without `OnQueue` is `default`."},
				{"`Queues: {\"mial\"}`", with(runtime.Options{Queues: []string{"mial"}}), runtimeInvalid, `starting runtime: invalid request: option Queues names "mial", for which no activity is registered: add one with OnQueue, or leave the queue out`, "Check the name."},
				{"`Sessions.Max: 1001`", with(runtime.Options{Sessions: runtime.SessionOptions{Max: 1001}}), runtimeInvalid, `starting runtime: invalid request: option Sessions.Max is 1001: give at most 1000`, "Start more nodes."},
				{"`Sessions.Max: -2`", with(runtime.Options{Sessions: runtime.SessionOptions{Max: -2}}), runtimeInvalid, `starting runtime: invalid request: option Sessions.Max is -2: give 1 or more, 0 for 10, or Off (-1) for none`, "Only `Off` is a negative value with a meaning."},
				{"`Sessions.Idle: 25 h`", with(runtime.Options{Sessions: runtime.SessionOptions{Idle: 25 * time.Hour}}), runtimeInvalid, `starting runtime: invalid request: option Sessions.Idle is 25h0m0s: give at most 24h0m0s`, "Keep what must last longer in a store of its own."},
				{"`Sessions.Idle: Off`", with(runtime.Options{Sessions: runtime.SessionOptions{Idle: runtime.Off}}), runtimeInvalid, `starting runtime: invalid request: option Sessions.Idle is -1ns: give more than zero, 0 for 5m0s`, "Switch sessions off by `Sessions.Max`."},
				{"`Leaks.MaxInstances: -2`", with(runtime.Options{Leaks: runtime.LeakOptions{MaxInstances: -2}}), runtimeInvalid, "starting runtime: invalid request: option Leaks.MaxInstances is -2: give 1 or more, 0 for 10, or Off (-1) for none", "Only `Off` is a negative value with a meaning."},
			}
		},
	}
}
