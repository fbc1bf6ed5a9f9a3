// Package orchestration has signatures of the real one.
package orchestration

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

type None = struct{}

type Context struct{ handle }

type handle struct{}

type Info struct{ ID string }

type Future[T any] struct{}

type Mailbox[T any] struct{}

type Promise[T any] struct{}

type Instance struct{ ID string }

type Awaitable interface{ source() }

type (
	ActivityOption interface{ activity() }
	ChildOption    interface{ child() }
	DetachedOption interface{ detached() }
	ContinueOption interface{ continues() }
	DefineOption   interface{ define() }
	SleepOption    interface{ sleep() }
	UpdateOption   interface{ update() }
	HandlerOption  interface {
		UpdateOption
		handler()
	}
	ReceiveOption interface{ receive() }
)

func (c *Context) Now() time.Time                                              { panic("stub") }
func (c *Context) Info() Info                                                  { panic("stub") }
func (c *Context) Err() error                                                  { panic("stub") }
func (c *Context) Logger() *slog.Logger                                        { panic("stub") }
func (c *Context) Rand() *rand.Rand                                            { panic("stub") }
func (c *Context) Sleep(d time.Duration, opts ...SleepOption) error            { panic("stub") }
func (c *Context) SetStatus(v any)                                             { panic("stub") }
func (c *Context) Patched(id string) bool                                      { panic("stub") }
func (c *Context) Detached() *Context                                          { panic("stub") }
func (c *Context) WithActivityOptions(opts ...ActivityOption) *Context         { panic("stub") }
func (c *Context) SetHandlerGrace(d time.Duration)                             { panic("stub") }
func (c *Context) Await(cond func() bool, opts ...ReceiveOption) error         { panic("stub") }
func (c *Context) AwaitHandlers() error                                        { panic("stub") }
func (c *Context) Go(fn func(*Context) error) Future[None]                     { panic("stub") }
func (c *Context) WithCancel() (child *Context, cancel func())                 { panic("stub") }
func (c *Context) WithTimeout(d time.Duration) (child *Context, cancel func()) { panic("stub") }

func (f Future[T]) Get(ctx *Context) (T, error) { panic("stub") }
func (f Future[T]) Ready() bool                 { panic("stub") }
func (f Future[T]) Cancel()                     { panic("stub") }
func (f Future[T]) source()                     { panic("stub") }

func (m Mailbox[T]) Receive(ctx *Context, opts ...ReceiveOption) (T, error) { panic("stub") }
func (m Mailbox[T]) TryReceive() (event T, ok bool, err error)              { panic("stub") }
func (m Mailbox[T]) source()                                                { panic("stub") }

func (p Promise[T]) Set(v T) error        { panic("stub") }
func (p Promise[T]) Fail(err error) error { panic("stub") }
func (p Promise[T]) Future() Future[T]    { panic("stub") }
func (p Promise[T]) source()              { panic("stub") }

func NewPromise[T any](ctx *Context) Promise[T] { panic("stub") }

func Within(d time.Duration) ReceiveOption { panic("stub") }

func Define[In, Out any](name string, fn func(*Context, In) (Out, error), opts ...DefineOption) func(*Context, In) (Out, error) {
	panic("stub")
}

func CallActivity[In, Out any](
	ctx *Context, fn func(context.Context, In) (Out, error), in In, opts ...ActivityOption,
) (Out, error) {
	panic("stub")
}

func StartActivity[In, Out any](
	ctx *Context, fn func(context.Context, In) (Out, error), in In, opts ...ActivityOption,
) Future[Out] {
	panic("stub")
}

func CallActivityNamed[Out any](ctx *Context, name string, in any, opts ...ActivityOption) (Out, error) {
	panic("stub")
}

func StartActivityNamed[Out any](ctx *Context, name string, in any, opts ...ActivityOption) Future[Out] {
	panic("stub")
}

func CallOrchestration[In, Out any](
	ctx *Context, fn func(*Context, In) (Out, error), in In, opts ...ChildOption,
) (Out, error) {
	panic("stub")
}

func StartDetachedNamed(ctx *Context, name string, in any, opts ...DetachedOption) Future[Instance] {
	panic("stub")
}

func Raise(ctx *Context, id, event string, payload any) Future[None] { panic("stub") }

func SideEffect[T any](ctx *Context, fn func() (T, error)) (T, error) { panic("stub") }

func StartTimer(ctx *Context, d time.Duration) Future[None] { panic("stub") }

func All[T any](ctx *Context, futures ...Future[T]) ([]T, error) { panic("stub") }

func Race[T any](ctx *Context, futures ...Future[T]) (value T, index int, err error) { panic("stub") }

func Select(ctx *Context, cases ...Awaitable) (int, error) { panic("stub") }

func Events[T any](ctx *Context, name string) Mailbox[T] { panic("stub") }

func HandleEvent[In any](ctx *Context, name string, fn func(*Context, In) error, opts ...HandlerOption) {
	panic("stub")
}

func HandleUpdate[In, Out any](ctx *Context, name string, fn func(*Context, In) (Out, error), opts ...UpdateOption) {
	panic("stub")
}

func HandleQuery[In, Out any](ctx *Context, name string, fn func(In) (Out, error)) { panic("stub") }

func Validate[In any](fn func(In) error) UpdateOption { panic("stub") }

func SetValue(ctx *Context, key string, v any) { panic("stub") }

func ContinueAsNew[In any](ctx *Context, in In, opts ...ContinueOption) error { panic("stub") }

func ContinueAsNewAfterHandlers[In any](ctx *Context, input func() In, opts ...ContinueOption) error {
	panic("stub")
}

type (
	Group     struct{}
	Mutex     struct{}
	Semaphore struct{}
	Saga      struct{}
)

func NewGroup(ctx *Context) *Group { panic("stub") }

func (g *Group) Go(fn func(*Context) error) { panic("stub") }
func (g *Group) Wait() error                { panic("stub") }

func Map[Item, Result any](ctx *Context, items []Item, limit int, fn func(*Context, Item) (Result, error)) ([]Result, error) {
	panic("stub")
}

func (m *Mutex) Lock(ctx *Context) error { panic("stub") }
func (m *Mutex) Unlock()                 { panic("stub") }

func NewSemaphore(n int) *Semaphore { panic("stub") }

func (s *Semaphore) Acquire(ctx *Context, n int) error { panic("stub") }
func (s *Semaphore) Release(n int)                     { panic("stub") }

func (s *Saga) Undo(fn func(*Context) error)  { panic("stub") }
func (s *Saga) Compensate(ctx *Context) error { panic("stub") }
