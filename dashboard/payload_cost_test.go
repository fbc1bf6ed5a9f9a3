package dashboard

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
)

// A page costs what it shows. Indentation alone made gigabytes of 20 KB of nested JSON.
func TestDeepPayloadsCostNoMore(t *testing.T) {
	w := newStore(t)
	deep := json.RawMessage(strings.Repeat("[", 9_900) + strings.Repeat("1,", 15_000) + "1" + strings.Repeat("]", 9_900))
	h, err := client.StartNamed[json.RawMessage](t.Context(), w.client, "parcel", deep)
	if err != nil {
		t.Fatal(err)
	}
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	for _, path := range []string{"/instances/", "/api/v1/instances/"} {
		for _, rest := range []string{"?payloads=show", "/history?payloads=show"} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := s.get(path + h.Key().String() + rest)
			runtime.ReadMemStats(&after)
			if spent := (after.TotalAlloc - before.TotalAlloc) >> 20; r.StatusCode != http.StatusOK && r.StatusCode != http.StatusNotFound || spent > 20 {
				t.Errorf("%s%s: status %d, %d MiB allocated for a page of %d bytes", path, rest, r.StatusCode, spent, len(r.body))
			}
		}
	}
}
