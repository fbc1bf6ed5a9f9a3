package dashboard

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
)

func TestNumbersHaveTheirNoun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    any
		want string
	}{
		{1, "1 try"},
		{int64(0), "0 tries"},
		{int64(12_345), "12,345 tries"},
		{client.Counted{Count: 1, Exact: true}, "1 try"},
		{client.Counted{Count: 1}, "1+ tries"},
		{client.Counted{Count: 10_000}, "10k+ tries"},
	} {
		if got, err := amountText(c.n, "try"); err != nil || got != c.want {
			t.Errorf("%+v is %q (%v), want %q", c.n, got, err, c.want)
		}
	}
	if got, err := amountText("1", "try"); err == nil {
		t.Errorf("a text is a number: %q", got)
	}
}

// What an instance waits for is said once: "a node that has ...", and not "start a node that has ...".
func TestWaitsAreSaidOnce(t *testing.T) {
	t.Parallel()
	w := newStore(t)
	h, err := client.StartNamed[string](t.Context(), w.client, "Nobody", "", client.WithID("waiting-1"))
	if err != nil {
		t.Fatal(err)
	}
	body := w.site(Options{Authorize: as(client.RoleViewer)}).get("/instances/" + h.Key().String()).body
	_, after, _ := strings.Cut(body, `<h2 id="waits">`)
	section, _, _ := strings.Cut(after, "</section>")
	if !strings.Contains(section, "<li>a node that has Nobody") {
		t.Errorf("it waits for %s", section)
	}
}
