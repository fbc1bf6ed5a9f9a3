package orchestration

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
)

// HandleQuery registers the function that answers a query, so that client.Query can ask the orchestration for a part of its
// state. In may be [None]. Register handlers at the beginning of the orchestration, before it first waits. A handler stays
// until the instance is deleted: it also answers when the orchestration has returned.
//
// A handler reads variables of the code and returns a copy of what it finds. It must not change a variable. It may call Now,
// Info, Err and Logger of the Context. Any other call ends the handler, and client.Query returns ErrQueryRefused. A query
// leaves no event and never fails a turn. The answer is encoded before the code continues, so a map or slice that the code
// changes later is safe to return. A handler runs for at most 2 s, and the answer has at most 2 MiB.
//
// The engine answers two queries itself. "queries" returns the names of all queries. "stack" returns where the coroutines
// wait.
//
// The turn fails if the name has a handler already, is not 1 to 512 bytes of UTF-8 without NUL, or if In or Out cannot be
// stored as JSON.
func HandleQuery[In, Out any](ctx *Context, name string, fn func(In) (Out, error)) {
	mustFunc(fn == nil, "HandleQuery")
	scope := ctx.engine()
	if err := checkQuery[In, Out](name); err != nil {
		scope.Fail(fmt.Errorf("handling query %s: %w", check.Quote(name), err))
	}
	answer := func(input []byte) ([]byte, error) {
		var in In
		if err := payload.Decode(input, &in); err != nil {
			return nil, newError(failure.ErrPayload, "input of query %q: %v", name, err)
		}
		out, err := fn(in)
		if err != nil {
			return nil, err
		}
		data, err := payload.EncodeExact(out)
		if err != nil {
			return nil, newError(failure.ErrPayload, "answer to query %q: %v", name, err)
		}
		return data, nil
	}
	if around := chainOf(ctx); !around.none() {
		answer = interceptQuery(ctx, around, name, answer)
	}
	scope.HandleQuery(name, answer)
}

func interceptQuery(ctx *Context, around chain, name string, answer func([]byte) ([]byte, error)) func([]byte) ([]byte, error) {
	run := around.query(ctx, func(q Incoming) (json.RawMessage, error) { return answer(q.Input) })
	return func(input []byte) ([]byte, error) {
		data, err := run(Incoming{Name: name, Input: input})
		if err == nil {
			data, err = payload.EncodeExact(data)
		}
		return data, err
	}
}

func checkQuery[In, Out any](name string) error {
	if err := check.Name("query name", name); err != nil {
		return err
	}
	if err := payload.Check(reflect.TypeFor[In]()); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	if err := payload.Check(reflect.TypeFor[Out]()); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}
