package client //nolint:testpackage // marks of acts that only other packages do

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/audit"
	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/provider"
)

// A mark of an act names the act.
func TestMarksNameTheAct(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]audit.Entry{
		`ann: pause queue "mail"`:                      {Act: string(ActQueue), Other: `queue "mail"`, Detail: "pause"},
		"ann: bulk: terminate on at most 5 instances":  {Act: string(ActBulk), Detail: "terminate on at most 5 instances"},
		"ann: activity: complete event 3, attempt 1 x": {Act: string(ActActivity), Instance: "x", Detail: "complete event 3, attempt 1"},
		"ann: retention":                               {Act: string(ActRetention), Other: "retention", Detail: "{}"},
	} {
		e.Principal, e.Outcome = "ann", audit.Done
		if got := markOf(&e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A fleet that restarts has one mark for the nodes that began, and one for those that ended, so that it pushes nothing else off the list.
func TestNodesShareAMark(t *testing.T) {
	t.Parallel()
	m := &figures.Merged{From: 1}
	second := provider.Time(1_000_000)
	for i, owner := range strings.Split("abcdefgh", "") {
		m.Spans = append(m.Spans, figures.Span{Owner: owner, Since: provider.Time(i+1) * second, Until: 1200 * second, Clean: true})
	}
	m.Spans = append(m.Spans, figures.Span{Owner: "z", Since: 0, Until: 1800 * second, Seen: 2400 * second, Lost: 2500 * second})
	got := map[string]provider.Time{}
	markNodes(m, func(at provider.Time, kind, text string) { got[kind+": "+text] = at })
	if len(got) != 3 || got["node-joined: 8 nodes began: a, b, c and 5 more"] != second || got["node-left: 8 nodes were shut down: a, b, c and 5 more"] != 1200*second ||
		got["node-lost: node z was lost"] != 2400*second {
		t.Errorf("%v", got)
	}
}

// A deploy has one mark for all orchestrations of a code version, and another one for another version.
func TestVersionsShareAMark(t *testing.T) {
	t.Parallel()
	m := &figures.Merged{From: 1}
	second := provider.Time(1_000_000)
	for i, name := range strings.Split("abcdefgh", "") {
		m.Versions = append(m.Versions, figures.Version{Name: name, Version: "v2", At: provider.Time(i+1) * second})
	}
	m.Versions = append(m.Versions, figures.Version{Name: "a", Version: "v3", At: 5 * second}, figures.Version{Name: "b", Version: "v2", At: 1200 * second})
	got := map[string]provider.Time{}
	markVersions(m, func(at provider.Time, _, text string) { got[text] = at })
	if len(got) != 3 || got["code version v2 of 8 orchestrations came: a, b, c and 5 more"] != second || got["code version v3 of a came"] != 5*second ||
		got["code version v2 of b came"] != 1200*second {
		t.Errorf("%v", got)
	}
}
