package upgrade_test

import (
	"reflect"
	"testing"

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
	if got := upgrade.Uses(nodes, running); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	nodes[0].Count = 300
	for _, u := range upgrade.Uses(nodes, running) {
		if u.Unserved {
			t.Errorf("unserved, though a list is cut: %+v", u)
		}
	}
}
