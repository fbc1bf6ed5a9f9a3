package client_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// audited returns the whole audit, newest first.
func (w *world) audited() []operate.AuditEntry {
	w.t.Helper()
	page, err := operate.New(w.Client).Audit(w.t.Context(), operate.AuditFilter{}, client.Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	return page.Items
}

// acts are calls of a client on the instance "x", each with the least role that may make it.
func principalActs() map[client.Act]struct {
	least client.Role
	call  func(context.Context, *client.Client) error
} {
	type entry = struct {
		least client.Role
		call  func(context.Context, *client.Client) error
	}
	return map[client.Act]entry{
		client.ActStart: {client.RoleOperator, func(ctx context.Context, c *client.Client) error {
			_, err := client.Start(ctx, c, Checkout, order{}, client.WithID("another"))
			return err
		}},
		client.ActRaise:       {client.RoleOperator, func(ctx context.Context, c *client.Client) error { return c.Raise(ctx, "x", "paid", 1) }},
		client.ActCancel:      {client.RoleOperator, func(ctx context.Context, c *client.Client) error { return c.Cancel(ctx, "x", "why") }},
		client.ActTerminate:   {client.RoleOperator, func(ctx context.Context, c *client.Client) error { return c.Terminate(ctx, "x", "why") }},
		client.ActUnblock:     {client.RoleOperator, func(ctx context.Context, c *client.Client) error { return c.Unblock(ctx, "x") }},
		client.ActDropMessage: {client.RoleOperator, func(ctx context.Context, c *client.Client) error { return c.DropMessage(ctx, "x", 99, "why") }},
		client.ActMove:        {client.RoleOperator, func(ctx context.Context, c *client.Client) error { return c.Move(ctx, "x", "2") }},
		client.ActRedrive:     {client.RoleOperator, func(ctx context.Context, c *client.Client) error { return operate.New(c).RedriveDeadLetter(ctx, 7) }},
		client.ActDiscard:     {client.RoleAdmin, func(ctx context.Context, c *client.Client) error { return operate.New(c).DropDeadLetter(ctx, 7) }},
	}
}

func TestActsNeedTheirRole(t *testing.T) {
	t.Parallel()
	for kind, a := range principalActs() {
		for _, role := range []client.Role{client.RoleViewer, client.RoleOperator, client.RoleAdmin} {
			w := newWorld(t, client.Options{})
			w.Start(client.WithID("x"))
			err := a.call(t.Context(), w.AsRole(role))
			if forbidden := errors.Is(err, client.ErrForbidden); forbidden != (role < a.least) {
				t.Errorf("%s as %v: %v", kind, role, err)
			}
			if got := len(w.audited()); (got == 0) != (role < a.least) {
				t.Errorf("%s as %v: %d entries in the audit", kind, role, got)
			}
			if role < a.least {
				continue
			}
			e := w.audited()[0]
			wanted := operate.AuditEntry{Principal: "ann", Role: role.String(), Act: kind, Outcome: "done"}
			if err != nil {
				wanted.Outcome, wanted.Error = "failed", err.Error()
			}
			ignored := cmpopts.IgnoreFields(operate.AuditEntry{}, "At", "EndedAt", "Instance", "Key", "Other", "Detail", "RequestID")
			if diff := cmp.Diff(wanted, e, ignored); diff != "" {
				t.Errorf("%s as %v: (-want +got)\n%s", kind, role, diff)
			}
			if e.At.IsZero() || e.EndedAt.IsZero() || e.RequestID == "" {
				t.Errorf("%s as %v: entry without times or request ID: %+v", kind, role, e)
			}
		}
	}
}

// The intent is stored before the act: an act that is interrupted shows with an unknown outcome. The failing calls last as long as
// CallTimeout. It is long enough for the others on a busy machine.
func TestHazard90_IntentBeforeTheAct(t *testing.T) {
	t.Parallel()
	w := newWorld(t, client.Options{CallTimeout: time.Second})
	h := w.Start(client.WithID("x"))
	// The store fails from the Send on: nothing behind the intent is stored.
	w.Fail(faulty.Send)
	if err := w.AsRole(client.RoleOperator).Raise(t.Context(), "x", "paid", 1); err == nil {
		t.Fatal("the raise was stored")
	}
	got := w.audited()
	if len(got) != 1 || got[0].Act != client.ActRaise || got[0].Key != h.Key() || got[0].Outcome != "failed" {
		t.Fatalf("audit: %+v", got)
	}
	// Without an intent there is no act.
	w = newWorld(t, client.Options{CallTimeout: time.Second})
	h = w.Start(client.WithID("x"))
	w.Fail(faulty.Record)
	if err := w.AsRole(client.RoleOperator).Terminate(t.Context(), "x", ""); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Fatalf("terminate without an audit: %v", err)
	}
	if i := w.Get(h.Key()); i.Status != provider.StatusRunning {
		t.Errorf("terminated without an intent: %v", i.Status)
	}
}

// An entry without an outcome reads unknown.
func TestHazard90_InterruptedActIsUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, client.Options{CallTimeout: time.Second})
	w.Start(client.WithID("x"))
	ctx, cancel := context.WithCancel(t.Context())
	var sent atomic.Bool
	w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Record}, Kind: faulty.Before, Match: func(any) bool { return sent.Load() }})
	w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Send}, Kind: faulty.Before, Match: func(any) bool {
		sent.Store(true)
		cancel()
		return true
	}})
	_ = w.AsRole(client.RoleOperator).Raise(ctx, "x", "paid", 1)
	w.plan.Clear()
	if got := w.audited(); len(got) != 1 || got[0].Outcome != "unknown" {
		t.Fatalf("audit: %+v", got)
	}
}

func TestHazard67_UsersHaveNoAccessToTheSystem(t *testing.T) {
	w := newWorld(t, client.Options{})
	_, err := client.StartNamed[any](t.Context(), w.Client, "perdure.bulk", nil)
	want(t, err, `starting "perdure.bulk": invalid request: names that begin with perdure. belong to perdure itself: give that of an orchestration of yours`, client.ErrInvalid)
	_, err = client.Start(t.Context(), w.Client, Checkout, order{}, client.WithID("perdure/x"))
	want(t, err, `starting "Checkout": invalid request: IDs that begin with perdure/ belong to perdure itself: choose another one`, client.ErrInvalid)
	own, err := w.store.Create(t.Context(), clienttest.SystemInstance())
	if err != nil {
		t.Fatal(err)
	}
	w.Start(client.WithID("p"))
	w.Start(client.WithID("x"))
	for name, call := range map[string]func(*client.Client) error{
		"raise":     func(c *client.Client) error { return c.Raise(t.Context(), "perdure/x", "e", 1) },
		"cancel":    func(c *client.Client) error { return c.Cancel(t.Context(), "perdure/x", "") },
		"terminate": func(c *client.Client) error { return c.Terminate(t.Context(), "perdure/x", "") },
		"unblock":   func(c *client.Client) error { return c.Unblock(t.Context(), "perdure/x") },
		"drop":      func(c *client.Client) error { return c.DropMessage(t.Context(), "perdure/x", 1, "") },
		"move":      func(c *client.Client) error { return c.Move(t.Context(), "perdure/x", "9") },
		"reset": func(c *client.Client) error {
			_, err := client.Reset(t.Context(), client.HandleOf[any](c, "perdure/x", own.Instance.Key), 1)
			return err
		},
		"update": func(c *client.Client) error {
			_, err := client.SendUpdate[any](t.Context(), client.HandleOf[any](c, "perdure/x", own.Instance.Key), "u", 1)
			return err
		},
	} {
		if err := call(w.Client); !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), "belong to perdure itself") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A made-up ID beside the key helps no principal.
	disguised := client.HandleOf[any](w.AsRole(client.RoleAdmin), "mine", own.Instance.Key)
	if err := disguised.Terminate(t.Context(), ""); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("terminate by key: %v", err)
	}
	for f, wanted := range map[string]int64{"": 2, "p": 1, "perdure/": 1, "x": 1, "perd": 0} {
		list, err := w.List(t.Context(), client.Filter{IDPrefix: f}, client.Page{})
		n, counted := w.Count(t.Context(), client.Filter{IDPrefix: f})
		if err != nil || counted != nil || int64(len(list.Items)) != wanted || n != wanted {
			t.Errorf("prefix %q: %d listed, %d counted, want %d (%v, %v)", f, len(list.Items), n, wanted, err, counted)
		}
	}
	if n, err := w.Count(t.Context(), client.Filter{System: true}); n != 3 || err != nil {
		t.Errorf("with the system: %d, %v", n, err)
	}
}

func TestPrincipalIsChecked(t *testing.T) {
	w := newWorld(t, client.Options{})
	_, err := w.As(client.Principal{})
	want(t, err, "making the client of a principal: invalid request: principal name is empty: give 1 to 512 bytes of UTF-8", client.ErrInvalid)
	_, err = w.As(client.Principal{Name: "x", Role: 9})
	want(t, err, "making the client of a principal: invalid request: role 9: give RoleViewer, RoleOperator or RoleAdmin", client.ErrInvalid)
	if _, ok := w.Principal(); ok {
		t.Error("the service's own client has a principal")
	}
	if p, ok := w.AsRole(client.RoleViewer).Principal(); !ok || p.Name != "ann" {
		t.Errorf("principal: %+v, %t", p, ok)
	}
}
