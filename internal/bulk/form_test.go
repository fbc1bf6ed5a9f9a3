package bulk

import (
	"reflect"
	"slices"
	"testing"

	"github.com/perdure/perdure/provider"
)

// Each field of a filter leaves out an instance that does not meet it, or Judges refuses the filter. A field that is new needs a row here.
func TestHazard151_EveryFieldIsJudged(t *testing.T) {
	t.Parallel()
	other := provider.AttributeValue{Text: "b"}
	filters := map[string]provider.Filter{
		"IDPrefix":      {IDPrefix: "x"},
		"Name":          {Name: "x"},
		"CodeVersions":  {CodeVersions: []string{"x"}},
		"Statuses":      {Statuses: []provider.Status{provider.StatusFailed}},
		"Blocked":       {Blocked: true},
		"ParentKey":     {ParentKey: provider.UUID{9}},
		"ParentKeys":    {ParentKeys: []provider.UUID{{9}}},
		"CreatedAfter":  {CreatedAfter: 11},
		"CreatedBefore": {CreatedBefore: 10},
		"EndedAfter":    {EndedAfter: 1},
		"EndedBefore":   {EndedBefore: 100},
		"Attributes":    {Attributes: []provider.Attribute{{Name: "a", Kind: provider.AttributeText, Text: "b"}}},
		"Matches":       {Matches: []provider.AttributeMatch{{Name: "a", Kind: provider.AttributeText, From: &other}}},
		"Retrying":      {Retrying: true},
		"FailureGroup":  {FailureGroup: "g"},
	}
	healthy := &provider.Instance{
		ID: "i", Name: "n", Status: provider.StatusRunning, CreatedAt: 10,
		Attributes: []provider.Attribute{{Name: "a", Kind: provider.AttributeText, Text: "a"}},
	}
	tasks := []provider.TaskInfo{{Attempt: 1, Deliveries: 1}}
	if !Matches(&provider.Filter{}, healthy, tasks) {
		t.Error("an empty filter leaves an instance out")
	}
	for f := range reflect.TypeFor[provider.Filter]().Fields() {
		filter, known := filters[f.Name]
		switch refused := Judges(&filter); {
		case f.Name == "Replaced": // only widens
		case !known:
			t.Errorf("%s has no row: let Matches judge it", f.Name)
		case refused != nil:
			t.Errorf("%s: %v", f.Name, refused)
		case Matches(&filter, healthy, tasks):
			t.Errorf("%s: an instance that does not meet it matches", f.Name)
		}
	}
	for of, want := range map[reflect.Type][]string{ // what is inside of the fields has no list of its own
		reflect.TypeFor[provider.AttributeMatch](): {"Name", "Kind", "Any", "Prefix", "From", "To"},
		reflect.TypeFor[provider.AttributeValue](): {"Text", "Number"},
		reflect.TypeFor[provider.Attribute]():      {"Name", "Kind", "Text", "Number"},
	} {
		var got []string
		for f := range of.Fields() {
			got = append(got, f.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v has the fields %q: judge them, and let Form know them", of, got)
		}
	}
}

// What the release before does not know makes a job one of the second form; all else stays in the first one.
func TestHazard151_NewWordsNeedTheSecondForm(t *testing.T) {
	t.Parallel()
	first := []Job{
		{}, {Filter: provider.Filter{IDPrefix: "c-", Blocked: true, Replaced: true}}, {Args: Args{Reason: "why", Point: 1, Prefix: "p"}, Rate: 1},
	}
	second := []Job{{Filter: provider.Filter{Retrying: true}}, {Filter: provider.Filter{FailureGroup: "g"}}, {Text: "t"}, {Args: Args{To: "last-failure"}}, {Act: "retry-now"}, {Act: "later"}}
	for n := range first {
		first[n].Act = "cancel"
		if got := first[n].Form(); got != First {
			t.Errorf("%+v has form %s", first[n], got)
		}
	}
	for n := range second {
		if second[n].Act == "" {
			second[n].Act = "cancel"
		}
		if got := second[n].Form(); got != Second {
			t.Errorf("%+v has form %s", second[n], got)
		}
	}
}
