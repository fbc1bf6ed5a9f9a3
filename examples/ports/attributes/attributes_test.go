package attributes_test

import (
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/attributes"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestOrdersAreFound(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, attributes.Fulfil)
		find := func(want ...string) {
			t.Helper()
			e.Sleep(time.Minute)
			got, err := attributes.Large(e.Context(), e.Client(), "north", 1000)
			if !slices.Equal(got, want) || err != nil {
				t.Errorf("%v, %v, want %v", got, err, want)
			}
		}
		for id, o := range map[string]attributes.Order{"a": {"north", 1000}, "b": {"south", 5000}, "c": {"north", 999}} {
			if _, err := attributes.Place(e.Context(), e.Client(), id, o); err != nil {
				t.Fatal(err)
			}
		}
		find("a")
		last, err := attributes.Place(e.Context(), e.Client(), "d", attributes.Order{Region: "north", Cents: 7000})
		if err != nil {
			t.Fatal(err)
		}
		find("d", "a")
		if err := last.Raise(e.Context(), "packed", nil); err != nil {
			t.Fatal(err)
		}
		find("a")
		d, err := last.Describe(e.Context())
		if due, ok := d.Attributes["due"].(time.Time); err != nil || !ok || !due.After(time.Now()) || d.Attributes["stage"] != "packed" {
			t.Errorf("the attributes are %v, %v", d.Attributes, err)
		}
		if _, err := last.Wait(e.Context()); err != nil {
			t.Error(err)
		}
	})
}
