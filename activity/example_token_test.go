package activity_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// letters are sent to people.
var letters = make(chan string, 1)

// Ask sends a letter with a token. Its result comes with the answer.
func Ask(ctx context.Context, question string) (string, error) {
	letters <- activity.Token(ctx)
	return "", activity.ErrPending
}

func Survey(ctx *orchestration.Context, question string) (string, error) {
	return orchestration.CallActivity(ctx, Ask, question)
}

func ExampleToken() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Survey), runtime.AddActivity(reg, Ask)); err != nil {
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
	h, err := client.Start(ctx, c, Survey, "Tea?")
	if err != nil {
		log.Panic(err)
	}
	token := <-letters // in a web service: from the link in the letter
	if err := client.CompleteActivity(ctx, c, token, "yes"); err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: yes <nil>
}
