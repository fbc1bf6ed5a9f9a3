package operate_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider/memory"
)

func ExampleOperator_PauseQueue() {
	ctx := context.Background()
	c, err := client.New(memory.New(memory.Options{}), client.Options{})
	if err != nil {
		log.Panic(err)
	}
	done, err := operate.New(c).PauseQueue(ctx, "bank", "the bank is down")
	if err != nil {
		log.Panic(err)
	}
	fmt.Println("still at work:", append(done.Unconfirmed, done.Ignoring...))
	// Output: still at work: []
}
