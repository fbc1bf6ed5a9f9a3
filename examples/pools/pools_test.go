package pools_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure/examples/pools"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// recorder calls back from another goroutine.
type recorder struct{}

func (recorder) Record(url string, done func(int, error)) { go done(len(url), nil) }

func TestArchive(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		media := &pools.Media{
			Get:      func(_ context.Context, url string) ([]byte, error) { return []byte("the picture at " + url), nil },
			Recorder: recorder{},
		}
		e.Register(func(reg *runtime.Registry) error { return pools.Register(reg, media) })
		for url, want := range map[string]string{"https://a.example": "8ddd00b5", "https://b.example": "d060bc81"} {
			if out, err := orchestrationtest.Start(e, pools.Archive, url).Wait(e.Context()); out != want || err != nil {
				t.Errorf("%q, %v, want %q", out, err, want)
			}
		}
	}, orchestrationtest.WithRuntime(func(o *runtime.Options) {
		of := pools.Options()
		o.MaxConcurrentActivities, o.Pools = of.MaxConcurrentActivities, of.Pools
	}))
}
