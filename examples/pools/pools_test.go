package pools_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/examples/pools"
	"github.com/perdure/perdure/runtime"
)

// recorder calls back from another goroutine.
type recorder struct{}

func (recorder) Record(url string, done func(int, error)) { go done(len(url), nil) }

func Example() {
	ctx := context.Background()
	media := &pools.Media{
		Get:      func(_ context.Context, url string) ([]byte, error) { return []byte("the picture at " + url), nil },
		Recorder: recorder{},
	}
	c, stop := local.StartWith(pools.Options(), func(reg *runtime.Registry) {
		if err := pools.Register(reg, media); err != nil {
			log.Panic(err)
		}
	})
	defer stop()

	for _, url := range []string{"https://a.example", "https://b.example"} {
		h, err := client.Start(ctx, c, pools.Archive, url)
		if err != nil {
			log.Panic(err)
		}
		fmt.Println(h.Wait(ctx))
	}
	// Output:
	// 8ddd00b5 <nil>
	// d060bc81 <nil>
}
