package compat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// This is the code of testdata/activities.db. It is frozen, because the store holds its histories.

// Placed waits for an activity that has a place in its queue, a session and limits.
func Placed(ctx *orchestration.Context, n int) (int, error) {
	return orchestration.CallActivity(ctx, Later, n, orchestration.WithQueue("later"), orchestration.WithPriority(orchestration.PriorityHighest),
		orchestration.WithFairnessKey("tenant"), orchestration.WithSession("session"), orchestration.WithHeartbeatTimeout(time.Hour),
		orchestration.WithScheduleToCloseTimeout(100*year))
}

// Overdue waits for an activity that must begin soon and that no node has.
func Overdue(ctx *orchestration.Context, n int) (string, error) {
	_, err := orchestration.CallActivityNamed[int](ctx, "Nobody", n, orchestration.WithQueue("nobody"),
		orchestration.WithScheduleToStartTimeout(10*time.Second))
	kind, _ := orchestration.TimeoutKind(err)
	return string(kind), nil
}

// Retried waits for the second attempt of an activity, which reads the progress of the first.
func Retried(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	return orchestration.CallActivityNamed[string](ctx, "goOn", 0, orchestration.WithRetry(orchestration.RetryPolicy{
		InitialInterval: 5 * time.Second, Jitter: orchestration.Off, MaxElapsed: 100 * year,
	}))
}

// Parked waits for an activity that ends by its token.
func Parked(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	return orchestration.CallActivityNamed[string](ctx, "park", 0, orchestration.WithStartToCloseTimeout(100*year))
}

// Locals has run two local activities and has a third in the queue.
func Locals(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	one, err := orchestration.CallLocalNamed[string](ctx, "local", "one")
	if err != nil {
		return "", err
	}
	two, err := orchestration.CallLocalNamed[string](ctx, "local", "two")
	if err != nil {
		return "", err
	}
	three, err := orchestration.CallLocalNamed[string](ctx, "queued", "three", orchestration.WithQueue("later"))
	return one + two + three, err
}

// activitiesRegistry returns the registry for recording, or for finishing the store. The latter fails if a local
// activity that has ended runs again.
func activitiesRegistry(finishes bool, tokens chan<- string) *runtime.Registry {
	reg := runtime.NewRegistry()
	queue := "nobody"
	if finishes {
		queue = "later"
	}
	goOn := func(ctx context.Context, _ int) (string, error) {
		far, ok, err := activity.HeartbeatDetails[string](ctx)
		if err != nil || ok {
			return "from " + far, err
		}
		return "", errors.Join(activity.Heartbeat(ctx, "half"), errDeclined)
	}
	park := func(ctx context.Context, _ int) (string, error) {
		tokens <- activity.Token(ctx)
		return "", activity.ErrParked
	}
	local := func(_ context.Context, s string) (string, error) {
		if finishes && s != "three" {
			return "", fmt.Errorf("%s ran again", s)
		}
		return "<" + s + ">", nil
	}
	_ = errors.Join(
		runtime.AddOrchestration(reg, Placed), runtime.AddOrchestration(reg, Overdue), runtime.AddOrchestration(reg, Retried),
		runtime.AddOrchestration(reg, Parked), runtime.AddOrchestration(reg, Locals),
		runtime.AddActivity(reg, Later, runtime.OnQueue(queue)), runtime.AddActivity(reg, activity.Define("goOn", goOn)),
		runtime.AddActivity(reg, activity.Define("park", park)), runtime.AddActivity(reg, activity.Define("local", local)),
		runtime.AddActivity(reg, activity.Define("queued", local), runtime.OnQueue(queue)))
	return reg
}

const tokenFile = "testdata/activities.token"

// TestRecordActivities records the store. Each instance stops where the comment of its code says.
func TestRecordActivities(t *testing.T) {
	if !*record {
		t.Skip("records only with -record")
	}
	path := filepath.Join(t.TempDir(), "activities.db")
	tokens := make(chan string, 1)
	n := open(t, path, activitiesRegistry(false, tokens))
	ctx, id := t.Context(), client.WithID
	pending := func(want func(client.Activity) bool) func(client.Description) bool {
		return func(d client.Description) bool { return len(d.Activities) == 1 && want(d.Activities[0]) }
	}
	queued := func(a client.Activity) bool { return a.State == client.ActivityQueued }
	text := must[client.Handle[string]](t)
	must[client.Handle[int]](t)(client.Start(ctx, n.c, Placed, 41, id("placed")))
	n.until(t, "placed", pending(queued))
	text(client.Start(ctx, n.c, Locals, orchestration.None{}, id("locals")))
	n.until(t, "locals", pending(queued))
	text(client.Start(ctx, n.c, Parked, orchestration.None{}, id("parked")))
	n.until(t, "parked", pending(func(a client.Activity) bool { return a.State == client.ActivityParked }))
	text(client.Start(ctx, n.c, Overdue, 1, id("overdue")))
	n.until(t, "overdue", pending(queued))
	text(client.Start(ctx, n.c, Retried, orchestration.None{}, id("retried")))
	n.until(t, "retried", pending(func(a client.Activity) bool { return a.Attempt == 2 }))
	if err := os.WriteFile(tokenFile, []byte(<-tokens), 0o600); err != nil {
		t.Fatal(err)
	}
	n.record(t, path, "activities")
}

func TestActivitiesStoreFinishes(t *testing.T) {
	n := open(t, copied(t, "activities.db"), activitiesRegistry(true, nil))
	defer n.close(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.CompleteActivity(ctx, n.c, string(token), "by hand"); err != nil {
		t.Error(err)
	}
	n.ends(ctx, t, map[string]string{
		"placed": `42`, "overdue": `"schedule-to-start"`, "retried": `"from half"`, "parked": `"by hand"`, "locals": `"\u003cone\u003e\u003ctwo\u003e\u003cthree\u003e"`,
	})
}
