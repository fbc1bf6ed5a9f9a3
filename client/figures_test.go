package client_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
)

// The marks of figures say which act was done on what. They do not quote the reason, which a viewer of figures may not be allowed to see, and
// leave out acts that failed or changed nothing.
func TestHazard161_MarksQuoteNoReasons(t *testing.T) {
	t.Parallel()
	w := newWorld(t, client.Options{})
	w.Start(client.WithID("x"))
	ann := w.AsRole(client.RoleAdmin)
	if err := ann.Suspend(t.Context(), "x", "canary of a reason"); err != nil {
		t.Fatal(err)
	}
	if err := ann.DropMessage(t.Context(), "x", 99, "canary of a reason"); err == nil {
		t.Fatal("a message that is not there was dropped")
	}
	if err := ann.Terminate(t.Context(), "x", "canary of a reason"); err != nil {
		t.Fatal(err)
	}
	f, err := w.Client.Figures(t.Context(), client.FiguresRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var acts []string
	for _, m := range f.Marks {
		if strings.Contains(m.Text, "canary") {
			t.Errorf("a mark quotes a reason: %q", m.Text)
		}
		if m.Kind == "act" {
			acts = append(acts, m.Text)
		}
	}
	if want := []string{"ann: suspend x", "ann: terminate x"}; !slices.Equal(acts, want) {
		t.Errorf("the marks of acts are %q, want %q", acts, want)
	}
}
