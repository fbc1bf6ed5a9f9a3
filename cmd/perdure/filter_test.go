package main

import (
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider/memory"
)

// stopped is a clock of a store that stands still.
type stopped time.Time

func (s stopped) Now() time.Time { return time.Time(s) }

func (s stopped) Timer(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

// What is so long ago is so by the clock of the store. That of the machine on which the command runs may be wrong.
func TestAgoIsByTheClockOfTheStore(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	store := memory.New(memory.Options{Clock: stopped(now)})
	c, err := client.New(store, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var f filterFlags
	cmd := &cobra.Command{}
	f.add(cmd)
	if err := cmd.ParseFlags([]string{"--created-after", "24h", "--created-before=1h", "--ended-after", "2026-01-02", "--ended-before", "0s"}); err != nil {
		t.Fatal(err)
	}
	if err := f.check(cmd); err != nil {
		t.Fatal(err)
	}
	got, err := f.of(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for what, at := range map[string][2]time.Time{
		"--created-after":  {got.CreatedAfter, now.Add(-24 * time.Hour)},
		"--created-before": {got.CreatedBefore, now.Add(-time.Hour)},
		"--ended-after":    {got.EndedAfter, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)},
		"--ended-before":   {got.EndedBefore, now},
	} {
		if !at[0].Equal(at[1]) {
			t.Errorf("%s is %v, want %v", what, at[0], at[1])
		}
	}
}
