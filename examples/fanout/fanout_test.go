package fanout_test

import (
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/fanout"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestAlbum(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, fanout.Resize)
		out, err := orchestrationtest.Start(e, fanout.Album, []string{"cat", "dog"}).Wait(e.Context())
		if !slices.Equal(out, []string{"small cat", "small dog"}) || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		_, err = orchestrationtest.Start(e, fanout.Album, []string{"cat", "", ""}, client.WithID("x")).Wait(e.Context())
		if err == nil || err.Error() != "instance \"x\" ended as Failed: no picture\nno picture" {
			t.Error(err)
		}
	})
}

func TestCheapest(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, fanout.Quote)
		out, err := orchestrationtest.Start(e, fanout.Cheapest, []string{"slow", "quick"}).Wait(e.Context())
		if out != "quick: 42.00" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
	})
}

// With a second for each picture, five take two seconds if three are in flight.
func TestLimited(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		calls := orchestrationtest.Replace(e, fanout.Resize, fanout.Resize, orchestrationtest.Delay(time.Second))
		out, err := orchestrationtest.Start(e, fanout.Limited, []string{"a", "b", "c", "d", "e"}).Wait(e.Context())
		if !slices.Equal(out, []string{"small a", "small b", "small c", "small d", "small e"}) || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		for i, c := range calls.Calls() {
			if want := time.Duration(i/3) * time.Second; c.At.Sub(calls.Calls()[0].At) != want {
				t.Errorf("call %d begins at %v, want %v after the first one", i, c.At, want)
			}
		}
	})
}

func TestWatched(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, fanout.Resize, nil, orchestrationtest.Delay(100*time.Millisecond))
		if out, err := orchestrationtest.Start(e, fanout.Watched, []string{"cat"}).Wait(e.Context()); out != "1 pictures" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestFramed(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, fanout.Resize)
		orchestrationtest.AddActivity(e, fanout.Quote)
		if out, err := orchestrationtest.Start(e, fanout.Framed, []string{"cat"}).Wait(e.Context()); out != "small cat, frames: 42.00" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		if _, err := orchestrationtest.Start(e, fanout.Framed, []string{""}, client.WithID("x")).Wait(e.Context()); err == nil ||
			err.Error() != "instance \"x\" ended as Failed: no picture" {
			t.Error(err)
		}
	})
}
