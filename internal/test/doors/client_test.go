package doors_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/sqlite"
)

var (
	notSet          = kind{"client.ErrNotSet", client.ErrNotSet}
	notEnded        = kind{"client.ErrNotEnded", client.ErrNotEnded}
	clientInvalid   = kind{"client.ErrInvalid", client.ErrInvalid}
	clientTooLarge  = kind{"client.ErrTooLarge", client.ErrTooLarge}
	clientNotFound  = kind{"client.ErrNotFound", client.ErrNotFound}
	clientExists    = kind{"client.ErrExists", client.ErrExists}
	clientForbidden = kind{"client.ErrForbidden", client.ErrForbidden}
	clientEnded     = kind{"client.ErrEnded", client.ErrEnded}
	overloaded      = kind{"client.ErrOverloaded", client.ErrOverloaded}
	clientClosed    = kind{"client.ErrClosed", client.ErrClosed}
	foreignTx       = kind{"client.ErrForeignTx", client.ErrForeignTx}
	clientFailed    = kind{"client.ErrFailed", client.ErrFailed}
	payloadError    = kind{"orchestration.ErrPayload", orchestration.ErrPayload}
	cancelled       = kind{"context.Canceled", context.Canceled}
)

// These are values that no door accepts.
var (
	long   = strings.Repeat("x", provider.MaxName+1)
	absent *sqlite.Provider // the result of an Open whose error was ignored
)

// lost returns a nil context, as left by a caller that forgot to set it.
func lost(context.Context) (none context.Context) { return none }

// self is a value that contains itself.
type self struct{ Self *self }

func cycle() *self {
	s := &self{}
	s.Self = s
	return s
}

// explosive panics when it is encoded.
type explosive struct{}

func (explosive) MarshalJSON() ([]byte, error) { panic("boom") }

// likeness has the method of an option.
type likeness struct{}

func (likeness) StartOption() {}

// text returns a JSON string of n bytes, including its quotes.
func text(n int) string { return strings.Repeat("x", n-2) }

func Checkout(*orchestration.Context, string) (string, error) { return "", nil }

func generic[T any](_ *orchestration.Context, in T) (T, error) { return in, nil }

// start tries a start by name.
func start(c *client.Client, name string, in any, opts ...client.StartOption) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := client.StartNamed[string](ctx, c, name, in, opts...)
		return err
	}
}

// startFunc tries a start by function.
func startFunc(c *client.Client, fn func(*orchestration.Context, string) (string, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := client.Start(ctx, c, fn, "")
		return err
	}
}

func makingClients() section {
	return section{
		title: "Making a client",
		intro: "`client.New` refuses most bad input. Each call of the client refuses the rest; those rows call `Describe(ctx, \"open\")`.",
		rows: func(t *testing.T, store *world) []row {
			describe := func(c *client.Client) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := c.Describe(ctx, "open")
					return err
				}
			}
			with := func(store provider.Provider, o client.Options) func(context.Context) error {
				return func(ctx context.Context) error {
					c, err := client.New(store, o)
					if err != nil {
						return err
					}
					return describe(c)(ctx)
				}
			}
			return []row{
				{"a nil store", with(nil, client.Options{}), clientInvalid, `making a client: invalid request: the client has no store: give client.New an open one`, "Open a store before the client is made, and check the error."},
				{"a nil `*sqlite.Provider`", with(absent, client.Options{}), clientInvalid, `making a client: invalid request: the client has no store: give client.New an open one`, "Check the error of `sqlite.Open`."},
				{"`CallTimeout: -2`", with(store, client.Options{CallTimeout: -2}), clientInvalid, `making a client: invalid request: client option CallTimeout is -2ns: give more than zero, 0 for 30s, or orchestration.Off (-1) for none`, "Only `orchestration.Off` is a negative value with a meaning."},
				{"`MaxBacklog: -1`", with(store, client.Options{MaxBacklog: -1}), clientInvalid, `making a client: invalid request: client option MaxBacklog is -1: give 1 or more, or 0 for no limit`, "Leave it zero for no limit."},
				{"`Propagators: {nil}`", with(store, client.Options{Propagators: []header.Propagator{nil}}), clientInvalid, `making a client: invalid request: client option Propagators: number 1 is nil: leave it out`, "Leave it out."},
				{"`Overload: 9`", with(store, client.Options{Overload: 9}), clientInvalid, `making a client: client option Overload: invalid request: overload policy 9: give Block, Refuse or Admit`, "Use the constants."},
				{"`Logger: new(slog.Logger)`", with(store, client.Options{Logger: new(slog.Logger)}), clientInvalid, `making a client: invalid request: client option Logger has no handler: make it with slog.New, or leave it nil for slog.Default()`, "Make loggers with `slog.New`."},
				{"a nil `*Client`", describe(nil), clientInvalid, `describing instance "open": invalid request: there is no client: make one with client.New`, "Make the client before it is used."},
				{"a zero `Client`", describe(&client.Client{}), clientInvalid, `describing instance "open": invalid request: there is no client: make one with client.New`, "Use `client.New`."},
				{"a closed store", func(ctx context.Context) error {
					closed := newWorld(t) //nolint:contextcheck // opening takes no context
					if err := closed.Close(); err != nil {
						return err
					}
					return with(closed, client.Options{})(ctx)
				}, clientClosed, `describing instance "open": provider is closed: open the store again and make a client of it`, "Close the store last, after all clients and runtimes."},
			}
		},
	}
}

func startingInstances() section {
	return section{
		title: "Start and StartNamed",
		intro: "Nothing is stored. Instance `open` is running.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			named := func(in any, opts ...client.StartOption) func(context.Context) error {
				return start(c, "Checkout", in, opts...)
			}
			closure := func(_ *orchestration.Context, in string) (string, error) { return in + t.Name(), nil }
			return []row{
				{"a nil function", startFunc(c, nil), clientInvalid, "starting an orchestration: invalid request: the function is nil: give one", "Give the function that the nodes have registered."},
				{"a nil function under a name", startFunc(c, orchestration.Define[string, string]("pay", nil)), clientInvalid, "starting an orchestration: invalid request: the function is nil: give one", "Give `Define` a function, or use `StartNamed`."},
				{"a closure", startFunc(c, closure), clientInvalid, `starting an orchestration: invalid request: function has no name to be stored under: SYMBOL is a closure, and the compiler changes the names of closures as it likes: name it with Define("name", fn) and use the result in its place`, "Name it once, in a package variable, and register and start that."},
				{"a generic function", startFunc(c, generic[string]), clientInvalid, `starting an orchestration: invalid request: function has no name to be stored under: SYMBOL is an instance of a generic function or type, and all instances share that name: name it with Define("name", fn) and use the result in its place`, "Name each instance of it with `Define`."},
				{"an empty name", start(c, "", 1), clientInvalid, `starting "": invalid request: orchestration name is empty: give 1 to 512 bytes of UTF-8`, "If names come from configuration, check that it is set."},
				{"a name of 513 bytes", start(c, long, 1), clientInvalid, `starting "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"...: invalid request: orchestration name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "Shorten it."},
				{"a name that is not UTF-8", start(c, "pay\xff", 1), clientInvalid, `starting "pay\xff": invalid request: orchestration name "pay\xff" is not valid UTF-8: encode it, as hex for example`, "Encode it."},
				{"a name with NUL", start(c, "pay\x00", 1), clientInvalid, `starting "pay\x00": invalid request: orchestration name "pay\x00" has a NUL byte: take it out`, "Take it out."},
				{"`WithID(\"\")`", named(1, client.WithID("")), clientInvalid, `starting "Checkout": invalid request: instance ID is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out to get a UUID."},
				{"`WithID` of 513 bytes", named(1, client.WithID(long)), clientInvalid, `starting "Checkout": invalid request: instance ID "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "Use a hash of the long text."},
				{"`WithID` not UTF-8", named(1, client.WithID("order-\xc3\x28")), clientInvalid, `starting "Checkout": invalid request: instance ID "order-\xc3(" is not valid UTF-8: encode it, as hex for example`, "Encode it."},
				{"`WithID` with NUL", named(1, client.WithID("order\x0042")), clientInvalid, `starting "Checkout": invalid request: instance ID "order\x0042" has a NUL byte: take it out`, "Take it out."},
				{"`WithID` of a running instance", named(1, client.WithID("open")), clientExists, `starting "Checkout" as instance "open": instance "open" already exists (status Running): use another ID, or take it with client.UseExisting`, "The work is started already: use that instance, or another ID."},
				{"the same with `ReplaceEnded`", named(1, client.WithID("open"), client.WithIDPolicy(client.ReplaceEnded)), clientExists, `starting "Checkout" as instance "open": instance "open" already exists (status Running): use another ID, or take it with client.UseExisting`, "Wait for its end, or terminate it."},
				{"the same with `UseExisting`, of another orchestration", start(c, "Refund", 1, client.WithID("open"), client.WithIDPolicy(client.UseExisting)), clientExists, `starting "Refund" as instance "open": instance "open" already exists (status Running), of orchestration "Checkout": use another ID`, "Give each kind of work a prefix of its own."},
				{"`WithOverload(9)`", named(1, client.WithOverload(9)), clientInvalid, `starting "Checkout": invalid request: overload policy 9: give Block, Refuse or Admit`, "Use the constants."},
				{"more than `MaxBacklog` waits, with `Refuse`", func(ctx context.Context) error {
					store := memoryStore(t)
					busy := clienttest.New(t, store, client.Options{MaxBacklog: 1, Overload: client.Refuse})
					return errors.Join(start(clienttest.New(t, store, client.Options{}), "Checkout", 1)(ctx), start(busy, "Checkout", 1, client.WithID("second"))(ctx))
				}, overloaded, `starting "Checkout" as instance "second": too much work waits in the store: 1 turn and 0 activities, most of it orchestration "Checkout", and the limit is 1: start again later, or run more nodes`, "Let your own caller retry after the `RetryAfter` of the `*client.OverloadedError`."},
				{"`WithIDPolicy(9)`", named(1, client.WithIDPolicy(9)), clientInvalid, `starting "Checkout": invalid request: ID policy 9: give Reject, UseExisting, ReplaceEnded or UseRunning`, "Use the constants."},
				{"`WithDelay(-1)`", named(1, client.WithDelay(-1)), clientInvalid, `starting "Checkout": invalid request: start delay -1ns is negative: give zero or more`, "Check how the delay is computed: a time in the past gives a negative one."},
				{"`WithTimeLimit(0)`", named(1, client.WithTimeLimit(0)), clientInvalid, `starting "Checkout": invalid request: time limit 0s: give more than zero and at most 100 years`, "Leave the option out for no limit."},
				{"a limit not longer than the delay", named(1, client.WithTimeLimit(time.Hour), client.WithDelay(time.Hour)), clientInvalid, `starting "Checkout": invalid request: the time limit 1h0m0s is over before the delay 1h0m0s, so its code would never begin: give a longer limit`, "The delay counts: add it to the limit."},
				{"`WithLimitGrace` alone", named(1, client.WithLimitGrace(time.Hour)), clientInvalid, `starting "Checkout": invalid request: WithLimitGrace without a limit: give WithTimeLimit or WithExecutionTimeLimit, too`, "Give both."},
				{"`WithLimitGrace(-1)`", named(1, client.WithTimeLimit(time.Hour), client.WithLimitGrace(-1)), clientInvalid, `starting "Checkout": invalid request: grace -1ns of the time limit: give zero or more and at most 100 years`, "Zero terminates at the limit."},
				{"`WithAttribute(\"\", 1)`", named(1, client.WithAttribute("", 1)), clientInvalid, `starting "Checkout": invalid request: attribute name is empty: give 1 to 512 bytes of UTF-8`, "If names come from configuration, check that it is set."},
				{"`WithAttribute` of the engine's", named(1, client.WithAttribute("perdure.patch", 1)), clientInvalid, `starting "Checkout": invalid request: attribute name "perdure.patch" begins with "perdure.", which is reserved: choose another one`, "Use a prefix of your own."},
				{"`WithAttribute` of 513 bytes", named(1, client.WithAttribute("note", long)), clientInvalid, `starting "Checkout": invalid request: attribute "note" "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "Attributes are for finding instances. Longer texts belong into the input, or into a value."},
				{"`WithAttribute` in the year 10000", named(1, client.WithAttribute("due", time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC))), clientInvalid, `starting "Checkout": invalid request: attribute "due" is in the year 10000: give 1 to 9999`, "Leave the attribute out for no time."},
				{"101 attributes", named(1, attributes(101)...), clientTooLarge, `starting "Checkout": too large: attribute "100": a start may set 100`, "Set only what lists are filtered on."},
				{"`WithHeader(\"\", \"acme\")`", named(1, client.WithHeader("", "acme")), clientInvalid, `starting "Checkout": invalid request: header key is empty: give 1 to 512 bytes of UTF-8`, "If names come from configuration, check that it is set."},
				{"`WithHeader` of the engine's", named(1, client.WithHeader("perdure.trace", "1")), clientInvalid, `starting "Checkout": invalid request: header key "perdure.trace" begins with "perdure.", which is reserved: choose another one`, "Use a prefix of your own."},
				{"`WithHeader` that is not UTF-8", named(1, client.WithHeader("tenant", "\xff")), clientInvalid, `starting "Checkout": invalid request: header "tenant" "\xff" is not valid UTF-8: encode it, as hex for example`, "Encode it."},
				{"`WithHeader` of 5,000 bytes", named(1, client.WithHeader("tenant", strings.Repeat("x", 5_000))), clientTooLarge, `starting "Checkout": header has 5012 bytes, at most 4096 fit: store the data elsewhere and pass a reference`, "Headers are for short facts. Longer ones belong into the input."},
				{"`WithRequestID` alone", named(1, client.WithRequestID("click-1")), clientInvalid, `starting "Checkout": invalid request: WithRequestID without WithID: a repeat finds the first start by its instance ID; give both`, "Give both."},
				{"`WithRequestID(\"\")`", named(1, client.WithID("new"), client.WithRequestID("")), clientInvalid, `starting "Checkout": invalid request: request ID is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out: each call is then a request of its own."},
				{"`WithRequestID` of 513 bytes", named(1, client.WithID("new"), client.WithRequestID(long)), clientInvalid, `starting "Checkout": invalid request: request ID "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "Use a hash of the long text."},
				{"a nil option", named(1, nil), clientInvalid, `starting "Checkout": invalid request: an option is nil: leave it out`, "Build the list of options without holes."},
				{"a value that only looks like an option", named(1, likeness{}), clientInvalid, `starting "Checkout": invalid request: option of type doors_test.likeness: give what functions of package client or InTx of the store's package made`, "Options come from functions."},
				{"a transaction of another kind of store", named(1, memory.InTx(memory.New(memory.Options{}).Begin())), foreignTx, `starting "Checkout" as instance "KEY": create: the transaction is not one on this store's database: it is a *memory.Tx: begin it on the database that the store was opened with, and pass it through InTx of that store's package`, "Use `InTx` of the package that opened the store."},
				{"`sqlite.InTx(nil)`", named(1, sqlite.InTx(nil)), foreignTx, `starting "Checkout" as instance "KEY": create: the transaction is not one on this store's database: it is nil: begin it on the database that the store was opened with, and pass it through InTx of that store's package`, "Check the error of `BeginTx`."},
				{"an input with a channel", named(struct{ C chan int }{make(chan int)}), clientInvalid, `starting "Checkout": invalid request: input: payload cannot be encoded: struct { C chan int }: json: unsupported type: chan int: give what encoding/json can write`, "Store data, not channels, functions or locks."},
				{"an input with a function", named(struct{ F func() }{func() {}}), clientInvalid, `starting "Checkout": invalid request: input: payload cannot be encoded: struct { F func() }: json: unsupported type: func(): give what encoding/json can write`, "Take it out, or tag the field `json:\"-\"`."},
				{"an input that holds itself", named(cycle()), clientInvalid, `starting "Checkout": invalid request: input: payload cannot be encoded: *doors_test.self: json: unsupported value: encountered a cycle via *doors_test.self: give what encoding/json can write`, "Store an ID in place of the pointer."},
				{"NaN", named(math.NaN()), clientInvalid, `starting "Checkout": invalid request: input: payload cannot be encoded: float64: json: unsupported value: NaN: give what encoding/json can write`, "JSON has no NaN and no infinity: use a pointer that is nil, or a string."},
				{"an input whose `MarshalJSON` panics", named(explosive{}), clientInvalid, `starting "Checkout": invalid request: input: payload cannot be encoded: doors_test.explosive: a method panicked: boom: give what encoding/json can write`, "Fix the method."},
				{"an input one byte over the limit", named(text(2<<20 + 1)), clientTooLarge, `starting "Checkout": too large: input has 2097153 bytes: at most 2097152 fit; store the data elsewhere and pass a reference`, "Store the data elsewhere and pass a reference."},
				{"a nil context", func(ctx context.Context) error { return named(1)(lost(ctx)) }, clientInvalid, `starting "Checkout": invalid request: the context is nil: pass the caller's, or context.Background()`, "Pass the context of the request that is served."},
				{"a cancelled context", func(ctx context.Context) error {
					ctx, cancel := context.WithCancel(ctx)
					cancel()
					return named(1, client.WithID("new"))(ctx)
				}, cancelled, `starting "Checkout" as instance "new": context canceled`, "The caller has given up: there is nothing to fix."},
			}
		},
	}
}

func steeringInstances() section {
	return section{
		title: "Raise, Cancel, Terminate and Unblock",
		intro: "The methods of `Client` and `Handle` behave the same. Nothing is stored. Instance `open` is running, `done` has ended.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			raise := func(id, event string, payload any, opts ...client.RaiseOption) func(context.Context) error {
				return func(ctx context.Context) error { return c.Raise(ctx, id, event, payload, opts...) }
			}
			cancel := func(id, reason string) func(context.Context) error {
				return func(ctx context.Context) error { return c.Cancel(ctx, id, reason) }
			}
			terminate := func(id, reason string) func(context.Context) error {
				return func(ctx context.Context) error { return c.Terminate(ctx, id, reason) }
			}
			unblock := func(id string) func(context.Context) error {
				return func(ctx context.Context) error { return c.Unblock(ctx, id) }
			}
			return []row{
				{"`Raise` to nobody", raise("nobody", "paid", 1), clientNotFound, `raising event "paid" to instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check ID and store. To start and signal, start first: events wait."},
				{"`Raise` to an ended instance", raise("done", "paid", 1), clientEnded, `raising event "paid" to instance "done": instance has ended (Completed): start a new one or use another ID`, "Decide what a late event means."},
				{"`Raise` with an empty ID", raise("", "paid", 1), clientInvalid, `raising event "paid" to instance "": invalid request: instance ID is empty: give 1 to 512 bytes of UTF-8`, "Check where the ID comes from."},
				{"`Raise` with an ID of 513 bytes", raise(long, "paid", 1), clientInvalid, `raising event "paid" to instance "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"...: invalid request: instance ID "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "No instance has this ID."},
				{"`Raise` with an ID that is not UTF-8", raise("\xff", "paid", 1), clientInvalid, `raising event "paid" to instance "\xff": invalid request: instance ID "\xff" is not valid UTF-8: encode it, as hex for example`, "No instance has this ID."},
				{"an empty event name", raise("open", "", 1), clientInvalid, `raising an event to instance "open": invalid request: event name is empty: give 1 to 512 bytes of UTF-8`, "Give the name that the orchestration waits for."},
				{"an event name of 513 bytes", raise("open", long, 1), clientInvalid, `raising an event to instance "open": invalid request: event name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "Put the long text into the payload."},
				{"an event name with NUL", raise("open", "paid\x00", 1), clientInvalid, `raising an event to instance "open": invalid request: event name "paid\x00" has a NUL byte: take it out`, "Take it out."},
				{"a payload that cannot be encoded", raise("open", "paid", make(chan int)), clientInvalid, `raising event "paid" to instance "open": invalid request: event: payload cannot be encoded: chan int: json: unsupported type: chan int: give what encoding/json can write`, "Store data, not channels, functions or locks."},
				{"a payload one byte over the limit", raise("open", "paid", text(2<<20+1)), clientTooLarge, `raising event "paid" to instance "open": too large: event has 2097153 bytes: at most 2097152 fit; store the data elsewhere and pass a reference`, "Store the data elsewhere and pass a reference."},
				{"`WithRequestID(\"\")`", raise("open", "paid", 1, client.WithRequestID("")), clientInvalid, `raising event "paid" to instance "open": invalid request: request ID is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out."},
				{"a nil option", raise("open", "paid", 1, nil), clientInvalid, `raising event "paid" to instance "open": invalid request: an option is nil: leave it out`, "Build the list of options without holes."},
				{"a nil context", func(ctx context.Context) error { return c.Raise(lost(ctx), "open", "paid", 1) }, clientInvalid, `raising an event to instance "open": invalid request: the context is nil: pass the caller's, or context.Background()`, "Pass the context of the request that is served."},
				{"`Cancel` of nobody", cancel("nobody", ""), clientNotFound, `cancelling instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check ID and store."},
				{"`Cancel` of an ended instance", cancel("done", ""), clientEnded, `cancelling instance "done": instance has ended (Completed): start a new one or use another ID`, "There is nothing left to stop."},
				{"`Cancel` with an empty ID", cancel("", ""), clientInvalid, `cancelling instance "": invalid request: instance ID is empty: give 1 to 512 bytes of UTF-8`, "Check where the ID comes from."},
				{"a reason of 4 KiB and a byte", cancel("open", strings.Repeat("x", 4<<10+1)), clientTooLarge, `cancelling instance "open": too large: the reason has 4097 bytes: shorten it to 4096`, "Write a shorter reason."},
				{"a reason with NUL", cancel("open", "no\x00"), clientInvalid, `cancelling instance "open": invalid request: reason "no\x00" has a NUL byte: take it out`, "Take it out."},
				{"a reason that is not UTF-8", terminate("open", "no\xff"), clientInvalid, `terminating instance "open": invalid request: reason "no\xff" is not valid UTF-8: encode it, as hex for example`, "Encode it."},
				{"`Terminate` of nobody", terminate("nobody", ""), clientNotFound, `terminating instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check ID and store."},
				{"`Terminate` of an ended instance", terminate("done", ""), clientEnded, `terminating instance "done": instance has ended (Completed): start a new one or use another ID`, "There is nothing left to end."},
				{"`Terminate` with a nil context", func(ctx context.Context) error { return c.Terminate(lost(ctx), "open", "") }, clientInvalid, `terminating instance "open": invalid request: the context is nil: pass the caller's, or context.Background()`, "Pass the context of the request that is served."},
				{"`Unblock` of nobody", unblock("nobody"), clientNotFound, `unblocking instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check ID and store."},
				{"`Unblock` of an ended instance", unblock("done"), clientEnded, `unblocking instance "done": instance has ended (Completed): start a new one or use another ID`, "It is not blocked any more."},
			}
		},
	}
}

// attributes returns options for so many attributes.
func attributes(n int) []client.StartOption {
	opts := make([]client.StartOption, n)
	for i := range opts {
		opts[i] = client.WithAttribute(strconv.Itoa(i), i)
	}
	return opts
}

func readingInstances() section {
	return section{
		title: "Handles, Describe, History and Wait",
		intro: "Instance `done` has completed with a text.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			lookup := func(id string) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := client.Lookup[string](ctx, c, id)
					return err
				}
			}
			history := func(id string, execution int64) func(context.Context) error {
				return func(ctx context.Context) error {
					for _, err := range c.History(ctx, id, execution) {
						if err != nil {
							return err
						}
					}
					return nil
				}
			}
			waitFor := func(ctx context.Context, id string, opts ...client.WaitOption) error {
				h, err := client.Lookup[int](ctx, c, id)
				if err != nil {
					return err
				}
				_, err = h.Wait(ctx, opts...)
				return err
			}
			return []row{
				{"`Lookup` of nobody", lookup("nobody"), clientNotFound, `looking up instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check ID and store."},
				{"`Lookup(\"\")`", lookup(""), clientInvalid, `looking up instance "": invalid request: instance ID is empty: give 1 to 512 bytes of UTF-8`, "Check where the ID comes from."},
				{"`Lookup` with an ID of 513 bytes", lookup(long), clientInvalid, `looking up instance "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"...: invalid request: instance ID "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "No instance has this ID."},
				{"a zero `Handle`", func(ctx context.Context) error {
					_, err := client.Handle[int]{}.Wait(ctx)
					return err
				}, clientInvalid, "using a handle of no instance: invalid request: the handle is zero or its key is: take one from client.Start or client.Lookup", "Check the error of the call that should have returned the handle."},
				{"`HandleOf` with a zero key", func(ctx context.Context) error {
					return client.HandleOf[int](c, "done", provider.UUID{}).Cancel(ctx, "")
				}, clientInvalid, "using a handle of no instance: invalid request: the handle is zero or its key is: take one from client.Start or client.Lookup", "Keep `Handle.Key()`, or use `Lookup`."},
				{"`HandleOf` with a key that was never used", func(ctx context.Context) error {
					_, err := client.HandleOf[int](c, "done", provider.UUID{1}).Describe(ctx)
					return err
				}, clientNotFound, `describing instance "done": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check key and store. Deleted instances are gone."},
				{"`HandleOf` with a nil client", func(ctx context.Context) error {
					_, err := client.HandleOf[int](nil, "done", provider.UUID{1}).Describe(ctx)
					return err
				}, clientInvalid, `using the handle of instance "done": invalid request: there is no client: make one with client.New`, "Make the client first."},
				{"`StatusOf` before code has set one", func(ctx context.Context) error {
					h, err := client.Lookup[string](ctx, c, "done")
					if err != nil {
						return err
					}
					_, err = client.StatusOf[int](ctx, h)
					return err
				}, notSet, `reading the status of instance "done": nothing is set`, "Show that nothing is known yet."},
				{"`Value` of an empty key", func(ctx context.Context) error {
					h, err := client.Lookup[string](ctx, c, "done")
					if err != nil {
						return err
					}
					_, err = client.Value[int](ctx, h, "")
					return err
				}, clientInvalid, `reading value "" of instance "done": invalid request: key is empty: give 1 to 512 bytes of UTF-8`, "Give the key that the code sets."},
				{"`Wait` of a handle with another output type", func(ctx context.Context) error { return waitFor(ctx, "done") }, payloadError, `instance "done" has completed: output of the orchestration: payload cannot be decoded into int, at byte 6 of "\"well\"": json: cannot unmarshal string into Go value of type int: give the handle the output type of ok`, "Give the handle the type that the orchestration returns."},
				{"`Wait` of an instance that failed", func(ctx context.Context) error { return waitFor(ctx, "failed") }, clientFailed, `instance "failed" ended as Failed: out of stock`, "Check the cause; `errors.Is` finds errors registered with `AddError`."},
				{"`Wait` with a nil option", func(ctx context.Context) error { return waitFor(ctx, "done", nil) }, clientInvalid, `waiting for instance "done": invalid request: an option is nil: leave it out`, "Build the list of options without holes."},
				{"`Wait` with a nil context", func(ctx context.Context) error {
					h, err := client.Lookup[string](ctx, c, "done")
					if err != nil {
						return err
					}
					_, err = h.Wait(lost(ctx))
					return err
				}, clientInvalid, `using the handle of instance "done": invalid request: the context is nil: pass the caller's, or context.Background()`, "Pass the context of the request that is served."},
				{"`History` of execution -1", history("done", -1), clientInvalid, `reading the history of instance "done": invalid request: execution -1: give 1 or more, or 0 for the current one`, "Executions count from 1; 0 is the current one."},
				{"`History` of an execution that never was", history("done", math.MaxInt64), clientNotFound, `reading the history of instance "done": not found: it has no execution 9223372036854775807, or was deleted; 0 is the current one`, "`Describe` returns the current one."},
				{"`History` of nobody", history("nobody", 0), clientNotFound, `reading the history of instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check ID and store."},
			}
		},
	}
}

func listingInstances() section {
	return section{
		title: "List, All and Count",
		intro: "`All` and `Count` refuse the same filters.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			list := func(f client.Filter, p client.Page) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := c.List(ctx, f, p)
					return err
				}
			}
			filter := func(f client.Filter) func(context.Context) error { return list(f, client.Page{}) }
			return []row{
				{"page size -1", list(client.Filter{}, client.Page{Size: -1}), clientInvalid, "listing instances: invalid request: page size -1: give 1 to 1000, or 0 for 100", "0 is the default."},
				{"page size 1,001", list(client.Filter{}, client.Page{Size: 1001}), clientInvalid, "listing instances: invalid request: page size 1001: give 1 to 1000, or 0 for 100", "Read page by page, or range over `All`."},
				{"a cursor of one's own", list(client.Filter{}, client.Page{Cursor: "7"}), clientInvalid, `listing instances: invalid request: page cursor "7" is none of this store: give the Cursor of the page before, or "" for the first`, "Cursors are opaque: pass them on unchanged."},
				{"a cursor of a megabyte", list(client.Filter{}, client.Page{Cursor: strings.Repeat("9", 1<<20)}), clientInvalid, `listing instances: invalid request: page cursor "9999999999999999999999999999999999999999"... is none of this store: give the Cursor of the page before, or "" for the first`, "Cursors are opaque: pass them on unchanged."},
				{"status `Done`", filter(client.Filter{Statuses: []client.Status{"Done"}}), clientInvalid, `listing instances: invalid request: status "Done" is none of an instance: give Running, Suspended, Completed, Failed, Cancelled or Terminated`, "Use the constants."},
				{"status `ContinuedAsNew`", filter(client.Filter{Statuses: []client.Status{client.StatusContinuedAsNew}}), clientInvalid, `listing instances: invalid request: status "ContinuedAsNew" is none of an instance: give Running, Suspended, Completed, Failed, Cancelled or Terminated`, "That is a status of executions."},
				{"a prefix of 513 bytes", filter(client.Filter{IDPrefix: long}), clientInvalid, `listing instances: invalid request: filter IDPrefix "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "No instance has this ID."},
				{"a prefix that ends within a character", filter(client.Filter{IDPrefix: "caf\xc3"}), clientInvalid, `listing instances: invalid request: filter IDPrefix "caf\xc3" is not valid UTF-8: encode it, as hex for example`, "Cut texts between characters."},
				{"a name with NUL", filter(client.Filter{Orchestration: "pay\x00"}), clientInvalid, `listing instances: invalid request: filter Orchestration "pay\x00" has a NUL byte: take it out`, "No orchestration has this name."},
				{"a time in the year 300000", filter(client.Filter{CreatedBefore: time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC)}), clientInvalid, "listing instances: invalid request: filter CreatedBefore is in the year 300000: give 1 to 9999", "Leave the field zero for no bound."},
				{"a zero `AttributeFilter`", filter(client.Filter{Attributes: []client.AttributeFilter{{}}}), clientInvalid, `listing instances: invalid request: filter attribute is empty: give 1 to 512 bytes of UTF-8`, "Take it from `AttributeIs`, `AttributeFrom`, `AttributeBelow` or `AttributePrefix`."},
				{"`AttributeIs` without values", filter(client.Filter{Attributes: []client.AttributeFilter{client.AttributeIs[string]("region")}}), clientInvalid, `listing instances: invalid request: filter on attribute "region" has 0 values: give 1 to 1000`, "Nothing can match. Leave the list call out, or the condition."},
				{"`Count` with a bad status", func(ctx context.Context) error {
					_, err := c.Count(ctx, client.Filter{Statuses: []client.Status{""}})
					return err
				}, clientInvalid, `counting instances: invalid request: status "" is none of an instance: give Running, Suspended, Completed, Failed, Cancelled or Terminated`, "Leave the list empty for all."},
				{"`All` with a nil context", func(ctx context.Context) error {
					for _, err := range c.All(lost(ctx), client.Filter{}) {
						return err
					}
					return nil
				}, clientInvalid, "listing instances: invalid request: the context is nil: pass the caller's, or context.Background()", "Pass the context of the request that is served."},
			}
		},
	}
}
