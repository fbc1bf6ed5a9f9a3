package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// plainStore is a store of an older release, which knows neither excerpts nor what is retrying.
type plainStore struct{ *memory.Provider }

func (plainStore) Features() provider.Features { return provider.Features{} }

// trouble starts code that fails in two ways, and code whose activity is tried again in an hour.
func trouble(t *testing.T, store provider.Provider) *client.Client {
	t.Helper()
	e := enginetest.On(t, store, runtime.Options{})
	reg := runtime.NewRegistry()
	enginetest.Activity(t, reg, "charge", func(_ context.Context, order int) (string, error) {
		return "", fmt.Errorf("order %d: card declined", order) //nolint:err113 // a text of a user
	})
	enginetest.Orchestration(t, reg, "pay", func(ctx *orchestration.Context, order int) (string, error) {
		return orchestration.CallActivityNamed[string](ctx, "charge", order)
	})
	enginetest.Orchestration(t, reg, "patient", func(ctx *orchestration.Context, order int) (string, error) {
		return orchestration.CallActivityNamed[string](ctx, "charge", order, orchestration.WithRetry(orchestration.RetryPolicy{
			MaxAttempts: 9, InitialInterval: time.Hour,
		}))
	})
	c, err := e.Start(reg).Client(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for id, order := range map[string]int{"a": 1000001, "b": 1000002, "c": 404, "d": 503} {
		h, err := client.StartNamed[string](t.Context(), c, "pay", order, client.WithID(id))
		if err == nil {
			_, err = h.Wait(t.Context())
		}
		if _, failed := errors.AsType[*orchestration.Error](err); !failed {
			t.Fatal(err)
		}
	}
	h, err := client.StartNamed[string](t.Context(), c, "patient", 7, client.WithID("p"))
	if err != nil {
		t.Fatal(err)
	}
	for {
		d, err := h.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Activities) == 1 && d.Activities[0].Attempt == 2 {
			return c
		}
	}
}

// Lists say why instances failed, groups tell how many failed alike, and both lead to the instances.
func TestHazard158_ListsSayWhyInstancesFailed(t *testing.T) {
	t.Parallel()
	c := trouble(t, memory.New(memory.Options{}))
	list, err := c.List(t.Context(), client.Filter{Statuses: []client.Status{client.StatusFailed}}, client.Page{})
	if err != nil || len(list.Items) != 4 {
		t.Fatal(list, err)
	}
	group := ""
	for _, d := range list.Items {
		if d.Excerpt == nil || d.Excerpt.Activity != "charge" || d.FailureGroup == "" {
			t.Errorf("%s failed with %+v in %q", d.ID, d.Excerpt, d.FailureGroup)
		}
		if d.ID == "a" {
			group = d.FailureGroup
			if d.Excerpt.Text != "order 1000001: card declined" {
				t.Errorf("the text is %q", d.Excerpt.Text)
			}
		}
	}
	groups, err := c.FailureGroups(t.Context(), client.FailureGroupsQuery{})
	if err != nil || len(groups.Items) != 3 || groups.AtLeast {
		t.Fatalf("%+v, %v: want three groups: 404 is not 503", groups, err)
	}
	one, err := c.FailureGroups(t.Context(), client.FailureGroupsQuery{Group: group})
	if err != nil || len(one.Items) != 1 || one.Items[0].Count != 2 || len(one.Items[0].Texts) != 2 || one.Items[0].OtherTexts != 0 {
		t.Errorf("%+v, %v: want two instances with two texts", one, err)
	}
	found, err := c.List(t.Context(), client.Filter{FailureGroup: group}, client.Page{})
	if err != nil || len(found.Items) != 2 {
		t.Errorf("the group has %+v, %v", found, err)
	}
}

// What is tried again is found, with its attempt, the error and the next try.
func TestRetryingIsAState(t *testing.T) {
	t.Parallel()
	c := trouble(t, memory.New(memory.Options{}))
	n, err := c.CountUpTo(t.Context(), client.Filter{Retrying: true}, 100)
	if err != nil || n != (client.Counted{Count: 1, Exact: true}) {
		t.Errorf("%+v retrying, %v", n, err)
	}
	list, err := c.List(t.Context(), client.Filter{Retrying: true}, client.Page{})
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != "p" {
		t.Errorf("%+v, %v", list, err)
	}
	all, err := c.Activities(t.Context(), client.ActivitiesQuery{Retrying: true}, client.Page{})
	if err != nil || len(all.Items) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	if a := all.Items[0]; a.InstanceID != "p" || a.Name != "charge" || a.Attempt != 2 || a.Failure == nil || a.Failure.Message != "order 7: card declined" ||
		!a.NotBefore.After(all.AsOf) || a.Since.Before(a.ScheduledAt) || a.Since.After(all.AsOf) {
		t.Errorf("%+v", a)
	}
}

// A store that cannot judge a filter returns no list that has everything, and runs no bulk job.
func TestFiltersThatAreNotJudgedAreRefused(t *testing.T) {
	t.Parallel()
	c := trouble(t, plainStore{memory.New(memory.Options{})})
	for name, f := range map[string]client.Filter{"Retrying": {Retrying: true}, "FailureGroup": {FailureGroup: "1-a"}} {
		_, listed := c.List(t.Context(), f, client.Page{})
		_, counted := c.Count(t.Context(), f)
		_, upTo := c.CountUpTo(t.Context(), f, 10)
		_, exported := operate.New(c).Export(t.Context(), discard{}, operate.ExportOptions{Filter: &f})
		for call, err := range map[string]error{"List": listed, "Count": counted, "CountUpTo": upTo, "Export": exported} {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s by %s: %v, want ErrUnsupported", call, name, err)
			}
		}
		job := operate.BulkJob{Act: client.ActCancel, Filter: f, Max: 1, AllTexts: f.FailureGroup != ""}
		if _, err := operate.New(c).StartBulk(t.Context(), job); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a bulk job by %s: %v", name, err)
		}
	}
	if _, err := c.FailureGroups(t.Context(), client.FailureGroupsQuery{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("FailureGroups: %v", err)
	}
	if _, err := c.Activities(t.Context(), client.ActivitiesQuery{Retrying: true}, client.Page{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Activities: %v", err)
	}
	d, err := c.Describe(t.Context(), "a")
	if err != nil || d.Excerpt != nil || d.Failure == nil {
		t.Errorf("a failed instance without an excerpt has %+v, %+v, %v", d.Excerpt, d.Failure, err)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
