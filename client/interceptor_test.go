package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// acting notes each act and changes inputs and answers.
type acting struct {
	client.InterceptorBase

	name string
	mu   *sync.Mutex
	seen *[]string
}

func (a acting) Act(ctx context.Context, call *client.Call, next func(context.Context) error) error {
	a.mu.Lock()
	*a.seen = append(*a.seen, fmt.Sprintf("%s %s %s%s %s %s", a.name, call.Act, call.Instance, call.About, call.Name, call.Input))
	a.mu.Unlock()
	switch string(call.Input) {
	case `"forbidden"`:
		return errors.New("not today")
	case `"forgotten"`:
		return nil
	case `"cached"`:
		call.Output = json.RawMessage(`"from memory"`)
		return nil
	case `"broken"`:
		call.Input = json.RawMessage(`"broken`)
	default:
		if call.Input != nil {
			call.Input = json.RawMessage(strings.Replace(string(call.Input), `"`, `"`+a.name+".", 1))
		}
	}
	err := next(ctx)
	if call.Output != nil {
		call.Output = json.RawMessage(strings.Replace(string(call.Output), `"`, `"`+a.name+":", 1))
	}
	return err
}

// The interceptors of a client are around each act and query, the first one outermost. They change what goes in, and what a query answers.
func TestClientInterceptors(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "code", func(ctx *orchestration.Context, in string) (string, error) {
			orchestration.HandleQuery(ctx, "ask", func(q string) (string, error) { return "asked " + q, nil })
			orchestration.HandleUpdate(ctx, "say", func(_ *orchestration.Context, s string) (string, error) { return "said " + s, nil })
			event, err := orchestration.Events[string](ctx, "end").Receive(ctx)
			return in + " " + event, err
		})
		e.Start(reg)
		var mu sync.Mutex
		var seen []string
		c := e.Client(client.Options{Interceptors: []client.Interceptor{acting{name: "a", mu: &mu, seen: &seen}, acting{name: "b", mu: &mu, seen: &seen}}})
		ctx := e.T.Context()
		h, err := client.StartNamed[string](ctx, c, "code", "in", client.WithID("i"))
		if err != nil {
			e.T.Fatal(err)
		}
		said, err := client.Update[string](ctx, h, "say", "hi", client.WithUpdateID("u"))
		if said != "said b.a.hi" || err != nil {
			e.T.Errorf("the update returned %q, %v", said, err)
		}
		again, err := client.Update[string](ctx, h, "say", "hi", client.WithUpdateID("u"))
		if again != said || err != nil {
			e.T.Errorf("its repeat returned %q, %v", again, err)
		}
		if asked, err := client.Query[string](ctx, h, "ask", "q"); asked != "a:b:asked b.a.q" || err != nil {
			e.T.Errorf("the query answered %q, %v", asked, err)
		}
		if asked, err := client.Query[string](ctx, h, "ask", "cached"); asked != "from memory" || err != nil {
			e.T.Errorf("an interceptor answered %q, %v", asked, err)
		}
		for in, want := range map[string]string{"forbidden": "not today", "forgotten": "neither called next nor returned an error", "broken": "JSON"} {
			for what, err := range map[string]error{
				"event": c.Raise(ctx, "i", "end", in),
				"start": failed(client.StartNamed[string](ctx, c, "code", in)),
				"query": failed(client.Query[string](ctx, h, "ask", in)),
			} {
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "neither") && !errors.Is(err, client.ErrInvalid) {
					e.T.Errorf("%s with input %q: %v", what, in, err)
				}
			}
		}
		ann, err := c.As(client.Principal{Name: "ann", Role: client.RoleOperator})
		if err != nil {
			e.T.Fatal(err)
		}
		seen = nil
		if _, err := operate.New(ann).PauseQueue(ctx, "mail", "rest"); err != nil {
			e.T.Error(err)
		}
		if _, err := ann.Delete(ctx, "i"); !errors.Is(err, client.ErrForbidden) {
			e.T.Error(err)
		}
		if err := ann.Raise(ctx, "i", "end", "over"); err != nil {
			e.T.Error(err)
		}
		if out, err := h.Wait(ctx); out != "b.a.in b.a.over" || err != nil {
			e.T.Errorf("got %q, %v", out, err)
		}
		want := []string{
			`a queue queue "mail" pausing: rest `, `b queue queue "mail" pausing: rest `, "a delete i  ", "b delete i  ", `a raise i end "over"`, `b raise i end "a.over"`,
		}
		if !slices.Equal(seen, want) {
			e.T.Errorf("seen\n%q\nwant\n%q", seen, want)
		}
	})
}

func failed[T any](_ T, err error) error { return err }

func TestClientInterceptorThatIsNil(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		for _, i := range []client.Interceptor{nil, (*acting)(nil)} {
			_, err := client.New(e.Store, client.Options{Interceptors: []client.Interceptor{client.InterceptorBase{}, i}})
			if !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), "number 2 is nil") {
				e.T.Error(err)
			}
		}
	})
}
