package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestration/model"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Belts is an execution model: its orchestrations are lists of stations.
type Belts struct{}

// Station is an activity to call, or a time to wait.
type Station struct {
	Activity string        `json:"activity,omitempty"`
	Wait     time.Duration `json:"wait,omitempty"`
}

// Orchestrations claims the name.
func (Belts) Orchestrations() []model.Name { return []model.Name{{Name: "belt", Version: "1"}} }

// New makes what runs one execution.
func (Belts) New(model.Name) model.Execution { return &belt{} }

type belt struct{ passed []string }

// Run passes all stations.
func (b *belt) Run(ctx *orchestration.Context, input json.RawMessage) (json.RawMessage, error) {
	var stations []Station
	if err := json.Unmarshal(input, &stations); err != nil {
		return nil, fmt.Errorf("the input is no belt: %w", err)
	}
	for _, s := range stations {
		if err := b.pass(ctx, s); err != nil {
			return nil, err
		}
	}
	return json.Marshal(b.passed)
}

func (b *belt) pass(ctx *orchestration.Context, s Station) error {
	if s.Activity == "" {
		return ctx.Sleep(s.Wait)
	}
	did, err := orchestration.CallActivityNamed[string](ctx, s.Activity, orchestration.None{})
	b.passed = append(b.passed, did)
	return err
}

// Press is an activity.
func Press(context.Context, orchestration.None) (string, error) { return "pressed", nil }

func Example() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddModel(reg, Belts{}), runtime.AddActivity(reg, Press)); err != nil {
		log.Panic(err)
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
	if err != nil {
		log.Panic(err)
	}
	defer rt.Shutdown(ctx) //nolint:errcheck // the program ends

	c, err := rt.Client(client.Options{})
	if err != nil {
		log.Panic(err)
	}
	stations := []Station{{Activity: "Press"}, {Wait: time.Millisecond}, {Activity: "Press"}}
	h, err := client.StartNamed[[]string](ctx, c, "belt", stations, client.WithVersion("1"))
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: [pressed pressed] <nil>
}
