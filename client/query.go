package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// Errors of Query. Compare with errors.Is.
var (
	// ErrUnknownQuery: the orchestration has no handler of that name. The error is an *UnknownQueryError, which has the names
	// that there are.
	ErrUnknownQuery = errors.New("unknown query")
	// ErrUnserved: no node has answered in time. None runs that orchestration, all are busy, or the code has not begun.
	ErrUnserved = errors.New("no node has answered in time")
	// ErrQueryFailed: the handler returned an error, which errors.Is and errors.As find.
	ErrQueryFailed = errors.New("the query failed")
	// ErrQueryRefused: the handler called what none may call, or took too long so often that the node refuses the query for a minute, and
	// as long as three of these calls still run.
	ErrQueryRefused = errors.New("the query was refused")
	// ErrQueryPanicked: the handler panicked.
	ErrQueryPanicked = errors.New("the query panicked")
	// ErrQueryTimeout: the handler did not return within 2 s, or while the caller waited.
	ErrQueryTimeout = errors.New("the query took too long")
	// ErrNotReplayed: the query needs a replay of the history, and the code of the node does not match it.
	ErrNotReplayed = errors.New("the history does not replay")
)

// UnknownQueryError names the queries that an instance can answer. It is ErrUnknownQuery.
type UnknownQueryError struct {
	Query string
	ID    string   // of the instance
	Known []string // sorted; none if the instance ended before its code began
	Why   string   // "" if the name is just not among the known ones
}

// Error implements error.
func (e *UnknownQueryError) Error() string {
	if e.Why != "" {
		return fmt.Sprintf("instance %q has no query %q: %s", e.ID, e.Query, e.Why)
	}
	return fmt.Sprintf("instance %q has no query %q: it has %s; register a handler with orchestration.HandleQuery before the code first waits",
		e.ID, e.Query, strings.Join(e.Known, ", "))
}

// Is makes errors.Is(err, ErrUnknownQuery) true.
func (e *UnknownQueryError) Is(target error) bool { return target == ErrUnknownQuery }

// QueryOption is an option of Query. It is no option of sending: a query waits for its answer, so it cannot be part of a transaction
// of the caller.
type QueryOption interface {
	applyQuery(o *queryOptions) error
}

type queryOptions struct {
	evenBlocked bool
	after       string
}

type queryFunc func(o *queryOptions) error

func (f queryFunc) applyQuery(o *queryOptions) error { return f(o) }

// EvenBlocked makes Query answer from the stored history of a blocked instance, if that replays. Without it, Query returns a
// *BlockedError at once.
func EvenBlocked() QueryOption {
	return queryFunc(func(o *queryOptions) error {
		o.evenBlocked = true
		return nil
	})
}

// After makes Query wait until the code has been given the event that was raised with this request ID: see [WithRequestID]. The answer
// then shows what the event has led to: nothing, if it came after the function of the orchestration had returned for the last time. If the
// next execution gets the event, Query waits for that execution. The event is one of the last 10,000 with a request ID. If the instance ends
// before the code is given the event, Query returns ErrEnded.
func After(requestID string) QueryOption {
	return queryFunc(func(o *queryOptions) error {
		o.after = requestID
		return access.Name("request ID", requestID)
	})
}

// Query asks the code of an instance by the handler that orchestration.HandleQuery has registered under the name. It returns the state
// after the last stored turn, or a later one. The query changes nothing and leaves no event. It works in any status, also after the
// end. If the code has not begun, Query waits for that. An instance that was terminated before the code of its last execution began has no
// queries: Query returns ErrUnknownQuery. The names "queries" and "stack" are those of the engine: a []string with the
// names of all queries, and a string that says where the coroutines wait. For dashboards and for polling, prefer StatusOf and Value: they
// need no node.
//
// Query waits until ctx is done. If ctx has no deadline, it waits for Options.CallTimeout. The input is encoded as JSON, at most 2 MiB.
// Do not call it while the goroutine holds a transaction of the store open: the answer may wait for that transaction.
//
// Errors: ErrUnknownQuery, ErrUnserved, ErrQueryFailed, ErrQueryRefused, ErrQueryPanicked, ErrQueryTimeout, ErrNotReplayed, ErrBlocked,
// ErrTooLarge for the input or the answer, ErrEnded with After, orchestration.ErrPayload for an input or answer that cannot be decoded, ErrInvalid,
// ErrNotFound, or the error of ctx.
func Query[Out, T any](ctx context.Context, h Handle[T], name string, in any, opts ...QueryOption) (Out, error) {
	var out Out
	if err := h.usable(ctx); err != nil {
		return out, err
	}
	op := fmt.Sprintf("asking %s for %q", h.t, name)
	output, err := h.c.query(ctx, h.t, op, name, in, opts)
	if err != nil {
		return out, err
	}
	if err := payload.Decode(output, &out); err != nil {
		var none Out
		return none, fmt.Errorf("%s: %w", op, h.c.errors.New(orchestration.ErrPayload, "answer: %v: give Query the type that the handler returns", err))
	}
	return out, nil
}

func (c *Client) query(ctx context.Context, t access.Target, op, name string, in any, opts []QueryOption) ([]byte, error) {
	var o queryOptions
	err := access.Name("query name", name)
	if err == nil {
		if err = bind.Apply(opts, func(opt QueryOption) error { return opt.applyQuery(&o) }); !errors.Is(err, ErrInvalid) {
			err = access.Invalid(err)
		}
	}
	var input []byte
	if err == nil {
		input, err = access.Encode("input", in)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	q := history.Question{Name: name, Input: input, EvenBlocked: o.evenBlocked, Rebuild: fastpath.Off(ctx).Has(fastpath.Cache), After: o.after}
	if c.caller.Interceptor == nil {
		return c.askFor(ctx, t, op, q)
	}
	var output []byte
	act := access.Act{Kind: string(ActQuery), Op: op, On: t, Detail: name, Input: &q.Input, Output: &output}
	err = c.caller.Interceptor.Around(ctx, &act, func(ctx context.Context) (err error) {
		output, err = c.askFor(ctx, t, op, q)
		return err
	})
	return output, err
}

// askFor asks until a node answers, within the rights of the principal.
func (c *Client) askFor(ctx context.Context, t access.Target, op string, q history.Question) ([]byte, error) {
	if err := c.caller.May(&access.Act{Kind: string(ActQuery), Op: op}); err != nil {
		return nil, err
	}
	if _, limited := ctx.Deadline(); !limited && c.store.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, c.store.Timeout)
		defer cancel()
		ctx = limited
	}
	a, err := c.ask(ctx, t, op, q)
	if err != nil {
		return nil, err
	}
	return c.answered(t, op, q.Name, &a)
}

// ask asks until there is an answer. An instance that is not as far as it must be is asked again when its row has changed.
func (c *Client) ask(ctx context.Context, t access.Target, op string, q history.Question) (history.Answer, error) {
	_, limited := ctx.Deadline()
	hint, mark := "check that a node runs this orchestration and is not overloaded", ""
	for try := 0; ; try++ {
		left := provider.MaxWait
		if deadline, ok := ctx.Deadline(); ok {
			left = min(left, time.Until(deadline))
		}
		q.Limit = left.Microseconds()
		a, err := c.askOnce(ctx, t, op, &q)
		if err == nil {
			switch a.Outcome {
			case history.AnswerNotBegun:
				hint = "its code has not begun"
			case history.AnswerNotYet:
				hint = fmt.Sprintf("its code has not been given the event with request ID %q", q.After)
			default:
				return a, nil
			}
			if try < quickTries {
				access.Sleep(ctx, firstTry<<try)
			} else {
				mark, err = c.changed(ctx, t, op, mark, left)
			}
		}
		unanswered := errors.Is(err, provider.ErrNoAnswer)
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			return a, fmt.Errorf("%s: %w", op, access.Why(ctx))
		case ctx.Err() != nil, unanswered && limited && left < provider.MaxWait:
			return a, unserved(op, hint)
		case err != nil && !unanswered:
			return a, access.Explain(op, 0, err)
		}
	}
}

// An instance that is not as far as it must be is asked again after firstTry, which doubles quickTries times. Most are a few milliseconds
// behind. The others are asked when their rows have changed.
const (
	firstTry   = 2 * time.Millisecond
	quickTries = 6
)

// changed waits until the row has another mark than the given one, and returns that. Without one it returns at once: what the next
// question misses ends the wait after it.
func (c *Client) changed(ctx context.Context, t access.Target, op, mark string, limit time.Duration) (string, error) {
	req := provider.GetRequest{Key: t.Key, WithMark: true}
	if mark != "" {
		req.Mark, req.Wait = mark, max(limit, 1)
	}
	var res provider.GetResult
	_, err := c.store.Repeat(ctx, op, func(ctx context.Context) (err error) {
		res, err = c.store.Get(ctx, req)
		return err
	})
	return res.Mark, err
}

func unserved(op, hint string) error { return fmt.Errorf("%s: %w: %s", op, ErrUnserved, hint) }

// askOnce asks the node of this process, and the store if that has no answer.
func (c *Client) askOnce(ctx context.Context, t access.Target, op string, q *history.Question) (history.Answer, error) {
	if q.Limit <= 0 {
		return history.Answer{}, fmt.Errorf("%w: %w", provider.ErrNoAnswer, context.DeadlineExceeded)
	}
	if here, ok := c.node.(bind.Asker); ok {
		if a, ok := here.AskCached(ctx, t.Key, q); ok {
			return a, nil
		}
	}
	return c.askAs(ctx, t, op, q, provider.Capability{})
}

// askAs asks the nodes of a capability through the store; zero: those that run the instance.
func (c *Client) askAs(ctx context.Context, t access.Target, op string, q *history.Question, of provider.Capability) (history.Answer, error) {
	var res provider.AskResult
	unanswered := error(nil)
	_, err := c.store.Repeat(ctx, op, func(ctx context.Context) (err error) {
		res, err = c.store.Ask(ctx, provider.AskRequest{
			Key: t.Key, AskID: provider.NewKeyIn(provider.SlotOf(t.Key)), Payload: history.EncodeQuestion(*q),
			Wait: time.Duration(q.Limit) * time.Microsecond, As: of,
		})
		if errors.Is(err, provider.ErrNoAnswer) {
			unanswered, err = err, nil
		}
		return err
	})
	if err == nil {
		err = unanswered
	}
	if err != nil {
		return history.Answer{}, err
	}
	a, err := history.DecodeAnswer(res.Payload)
	if err != nil {
		return a, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return a, nil
}

// answered returns the encoded answer or the error that it stands for.
func (c *Client) answered(t access.Target, op, name string, a *history.Answer) ([]byte, error) {
	switch a.Outcome {
	case history.Answered:
		return a.Output, nil
	case history.AnswerFailed:
		cause := errors.New("no reason was given")
		if a.Failure != nil {
			cause = c.errors.Decode(*a.Failure)
		}
		return nil, fmt.Errorf("%s: %w: %w", op, ErrQueryFailed, cause)
	case history.AnswerUnknown:
		unknown := &UnknownQueryError{Query: name, ID: t.ID, Why: a.Message}
		for _, known := range a.Names {
			unknown.Known = append(unknown.Known, string(known))
		}
		return nil, unknown
	case history.AnswerBlocked:
		held := a.Blocked
		if held == nil {
			held = &history.Held{}
		}
		return nil, fmt.Errorf("%s: %w", op, &BlockedError{ID: t.ID, Key: t.Key, Blocked: *blocked(&provider.Blocked{
			Reason: held.Reason, Message: held.Message, Count: held.Count, Since: provider.Time(held.Since), RetryAt: provider.Time(held.RetryAt),
		})})
	}
	if a.Outcome == history.AnswerEnded {
		return nil, fmt.Errorf("%s: %w before it was given the event of client.After", op, ErrEnded)
	}
	reasons := map[int64]error{
		history.AnswerRefused: ErrQueryRefused, history.AnswerPanicked: ErrQueryPanicked, history.AnswerTooLarge: ErrTooLarge,
		history.AnswerTooSlow: ErrQueryTimeout, history.AnswerNotReplay: ErrNotReplayed,
	}
	reason := reasons[a.Outcome]
	if reason == nil {
		reason = fmt.Errorf("%w: answer of kind %d: upgrade the client", ErrQueryRefused, a.Outcome)
	}
	if a.Outcome == history.AnswerTooLarge {
		return nil, fmt.Errorf("%s: the answer: %w: %s; return a part of it", op, reason, a.Message)
	}
	return nil, fmt.Errorf("%s: %w: %s", op, reason, a.Message)
}
