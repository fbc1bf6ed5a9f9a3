package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
)

// With up to twenty busy processes each one receives about a thousand notifications in a second, as with two.
func TestNotificationsOfManyProcesses(t *testing.T) {
	longtest.Skip(t)
	const most = 1100
	for _, processes := range []int{1, 2, 5, 10, 20} {
		var p peers
		now := time.Unix(1, 0)
		for n := range processes - 1 {
			p.observe(fmt.Sprintf(`{"n":"%016x","t":[1]}`, n), now)
			p.observe(fmt.Sprintf(`{"n":"%016x","t":[2]}`, n), now)
		}
		gather := p.window(now)
		if rate := time.Duration(processes-1) * time.Second / gather; rate > most || gather < coalesce {
			t.Errorf("%d processes: each gathers for %v and hears %d notifications in a second", processes, gather, rate)
		}
		if after := p.window(now.Add(recently + 1)); after != coalesce {
			t.Errorf("%d processes: when the others are silent it gathers for %v", processes, after)
		}
	}
}

// Any role may send notifications. They neither fill the memory nor delay the signals of this process.
func TestNotificationsOfStrangers(t *testing.T) {
	longtest.Skip(t)
	var p peers
	now := time.Unix(1, 0)
	for n := range 100_000 {
		p.observe(fmt.Sprintf(`{"n":"%016x"`, n), now)
	}
	p.observe("", now)
	if gather := p.window(now); len(p.last) > maxPeers || gather > maxCoalesce {
		t.Errorf("%d processes are counted, notifications are gathered for %v", len(p.last), gather)
	}
}
