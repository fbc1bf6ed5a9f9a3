package upgrade_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// A version is unserved if instances run it and nodes have only others of the name. Without any node of the name, or with a list that is
// cut, nobody knows.
func TestUses(t *testing.T) {
	t.Parallel()
	of := func(name, version string) provider.Capability {
		return provider.Capability{Name: name, CodeVersion: version}
	}
	running := []provider.RunningInstances{
		{Capability: of("a", "1"), Count: 3}, {Capability: of("a", "10"), Count: 1}, {Capability: of("a", ""), Count: 2}, {Capability: of("c", "1"), Count: 1},
	}
	nodes := []upgrade.Node{
		{Owner: "x", Count: 2, Orchestrations: []upgrade.Orchestration{{Name: "a", Version: "10"}, {Name: "b"}}},
		{Owner: "y", Count: 2, Orchestrations: []upgrade.Orchestration{{Name: "a", Version: "10"}, {Name: "a", Version: "9"}}},
	}
	want := []upgrade.Use{
		{Capability: of("a", ""), Running: 2, Unserved: true},
		{Capability: of("a", "1"), Running: 3, Unserved: true},
		{Capability: of("a", "9"), Nodes: []string{"y"}},
		{Capability: of("a", "10"), Nodes: []string{"x", "y"}, Running: 1},
		{Capability: of("b", ""), Nodes: []string{"x"}},
		{Capability: of("c", "1"), Running: 1},
	}
	if got := upgrade.Uses(nodes, 0, running); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	nodes[0].Count = 300
	for _, u := range upgrade.Uses(nodes, 0, running) {
		if u.Unserved || !u.Unlisted {
			t.Errorf("unserved or listed, though a list is cut: %+v", u)
		}
	}
}

// A node that is lost serves nothing. The orchestrations of perdure itself are served by each node that lists them, whatever it cuts, and
// are shown if instances run them.
func TestUsesOfTheSystemAndLostNodes(t *testing.T) {
	t.Parallel()
	retention, schedule := provider.Capability{Name: reserved.Retention}, provider.Capability{Name: reserved.Schedule}
	a := provider.Capability{Name: "a", CodeVersion: "1"}
	running := []provider.RunningInstances{{Capability: retention, Count: 1}, {Capability: a, Count: 1}}
	node := func(owner string, renewed provider.Time) upgrade.Node {
		return upgrade.Node{
			Owner: owner, Every: 60, Renewed: renewed, Count: 1, Orchestrations: []upgrade.Orchestration{{Name: "a", Version: "1"}},
			System: []upgrade.Orchestration{{Name: retention.Name}, {Name: schedule.Name}},
		}
	}
	now := provider.Time(time.Hour.Microseconds())
	live, lost := node("live", now), node("lost", 0)
	newer := live
	newer.Owner, newer.Orchestrations = "newer", []upgrade.Orchestration{{Name: "a", Version: "2"}}
	cut := newer
	cut.Count = 300
	a2 := upgrade.Use{Capability: provider.Capability{Name: "a", CodeVersion: "2"}, Nodes: []string{"newer"}}
	cut2 := a2
	cut2.Unlisted = true
	for name, c := range map[string]struct {
		nodes []upgrade.Node
		want  []upgrade.Use
	}{
		"both run": {[]upgrade.Node{live, lost}, []upgrade.Use{{Capability: a, Running: 1, Nodes: []string{"live"}}, {Capability: retention, Running: 1, Nodes: []string{"live"}}}},
		"all lost": {[]upgrade.Node{lost}, []upgrade.Use{{Capability: a, Running: 1}, {Capability: retention, Running: 1}}},
		"only newer": {[]upgrade.Node{lost, newer}, []upgrade.Use{
			{Capability: a, Running: 1, Unserved: true}, a2, {Capability: retention, Running: 1, Nodes: []string{"newer"}},
		}},
		"a list is cut": {[]upgrade.Node{cut}, []upgrade.Use{
			{Capability: a, Running: 1, Unlisted: true}, cut2, {Capability: retention, Running: 1, Nodes: []string{"newer"}},
		}},
	} {
		if got := upgrade.Uses(c.nodes, now, running); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, c.want)
		}
	}
}
