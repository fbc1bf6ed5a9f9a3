package orchestration

import (
	"encoding/json"
	"time"
)

// Interceptor is called around what the code of an orchestration does: around its function, its handlers and its calls. Embed an
// [InterceptorBase], which passes all on, and write the methods that are needed. runtime.AddOrchestrationInterceptor registers one, and makes a
// value of it for each execution, so its fields may be state of that execution.
//
// An Interceptor is code of the orchestration. It runs again on each replay, also where its node answers a query or checks a deploy. So it is
// deterministic, as the function is: it takes time, randomness and logs from the Context. A change of the calls that it makes is a change of
// the code of all running instances; see [Context.Patched]. Query and Validate only read.
//
// Inputs and outputs are JSON, as the history has them, because an Interceptor sees functions of all types. What it changes must be valid JSON
// that the receiver can decode. Otherwise the call fails with ErrPayload.
//
// The one that was registered first is outermost. A method does its work around next, and should call next once. It may give next another
// Context, such as one of [Context.WithCancel], another input or another name. Calls that it makes itself, with the Context that it was given,
// pass only the interceptors behind it. Orchestrations of perdure itself have no interceptors.
type Interceptor interface {
	// Main is called around the function of the orchestration, once for each run of its code. ContinueAsNew is an error of next, to be returned.
	Main(ctx *Context, input json.RawMessage, next func(*Context, json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error)
	// Event is called around each run of a handler of [HandleEvent], in the coroutine of the run. Mailboxes have no handlers.
	Event(ctx *Context, e Incoming, next func(*Context, Incoming) error) error
	// Query is called around each call of a handler of [HandleQuery]. The Context is that of the registration. The same rules as for the handler
	// hold: it only reads.
	Query(ctx *Context, q Incoming, next func(Incoming) (json.RawMessage, error)) (json.RawMessage, error)
	// ValidateUpdate is called around the check of each update, also if the handler has no [Validate]. The Context is that of the registration. It
	// only reads. Its error rejects the update.
	ValidateUpdate(ctx *Context, u Incoming, next func(Incoming) error) error
	// Update is called around each run of a handler of [HandleUpdate], in the coroutine of the run.
	Update(ctx *Context, u Incoming, next func(*Context, Incoming) (json.RawMessage, error)) (json.RawMessage, error)

	// Activity is called around each call of an activity, when the code makes it. The future that it returns is the one that the code gets.
	Activity(ctx *Context, call ActivityCall, next func(*Context, ActivityCall) Future[json.RawMessage]) Future[json.RawMessage]
	// Local is Activity for local activities.
	Local(ctx *Context, call ActivityCall, next func(*Context, ActivityCall) Future[json.RawMessage]) Future[json.RawMessage]
	// Child is called around each start of a child.
	Child(ctx *Context, call ChildCall, next func(*Context, ChildCall) Future[json.RawMessage]) Future[json.RawMessage]
	// Timer is called around [StartTimer] and [Context.Sleep]. It is not called for timers of scopes and of [Within].
	Timer(ctx *Context, d time.Duration, next func(*Context, time.Duration) Future[None]) Future[None]
	// SideEffect is called around [SideEffect], also on a replay, where next returns the record.
	SideEffect(ctx *Context, next func(*Context) (json.RawMessage, error)) (json.RawMessage, error)

	embedsInterceptorBase()
}

// Incoming is an event, query or update that comes to a handler. A changed Name changes nothing.
type Incoming struct {
	Name  string
	Input json.RawMessage
}

// ActivityCall is a call of an activity. next makes the call with what it is given.
type ActivityCall struct {
	Name    string
	Input   json.RawMessage
	Options []ActivityOption // those of the call itself, without those of scope and registration
}

// ChildCall is the start of a child. next starts it with what it is given.
type ChildCall struct {
	Name    string
	Version string // see the function Version; "": none
	Input   json.RawMessage
	Options []ChildOption
}

// InterceptorBase passes everything on. Each [Interceptor] embeds it.
type InterceptorBase struct{}

var _ Interceptor = InterceptorBase{}

func (InterceptorBase) embedsInterceptorBase() {}

// Main implements Interceptor.
func (InterceptorBase) Main(
	ctx *Context, input json.RawMessage, next func(*Context, json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	return next(ctx, input)
}

// Event implements Interceptor.
func (InterceptorBase) Event(ctx *Context, e Incoming, next func(*Context, Incoming) error) error {
	return next(ctx, e)
}

// Query implements Interceptor.
func (InterceptorBase) Query(_ *Context, q Incoming, next func(Incoming) (json.RawMessage, error)) (json.RawMessage, error) {
	return next(q)
}

// ValidateUpdate implements Interceptor.
func (InterceptorBase) ValidateUpdate(_ *Context, u Incoming, next func(Incoming) error) error {
	return next(u)
}

// Update implements Interceptor.
func (InterceptorBase) Update(
	ctx *Context, u Incoming, next func(*Context, Incoming) (json.RawMessage, error),
) (json.RawMessage, error) {
	return next(ctx, u)
}

// Activity implements Interceptor.
func (InterceptorBase) Activity(
	ctx *Context, call ActivityCall, next func(*Context, ActivityCall) Future[json.RawMessage],
) Future[json.RawMessage] {
	return next(ctx, call)
}

// Local implements Interceptor.
func (InterceptorBase) Local(
	ctx *Context, call ActivityCall, next func(*Context, ActivityCall) Future[json.RawMessage],
) Future[json.RawMessage] {
	return next(ctx, call)
}

// Child implements Interceptor.
func (InterceptorBase) Child(
	ctx *Context, call ChildCall, next func(*Context, ChildCall) Future[json.RawMessage],
) Future[json.RawMessage] {
	return next(ctx, call)
}

// Timer implements Interceptor.
func (InterceptorBase) Timer(ctx *Context, d time.Duration, next func(*Context, time.Duration) Future[None]) Future[None] {
	return next(ctx, d)
}

// SideEffect implements Interceptor.
func (InterceptorBase) SideEffect(ctx *Context, next func(*Context) (json.RawMessage, error)) (json.RawMessage, error) {
	return next(ctx)
}
