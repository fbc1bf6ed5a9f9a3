package validations

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

func readHistory(t *trial, req provider.ReadHistoryRequest) (ids string, res provider.ReadHistoryResult) {
	res, err := t.ReadHistory(t.ctx, req)
	t.ok(err)
	for _, e := range res.Events {
		ids += fmt.Sprint(e.ID)
	}
	return ids, res
}

func checkList(t *trial, filter provider.Filter, want string) {
	seen := map[string]bool{}
	for _, i := range listPages(t, filter, 100, func() {}) {
		seen[i.ID] = true
	}
	for id := range strings.FieldsSeq(want) {
		t.checkf(seen[id], "filter %+v does not list %s", filter, id)
	}
	t.checkf(len(seen) == len(strings.Fields(want)), "filter %+v lists %v, want %s", filter, seen, want)
}

// inspect returns the first page of a kind, with changes to the request.
func inspect(t *trial, kind provider.InspectKind, changes ...func(*provider.InspectRequest)) provider.InspectResult {
	req := provider.InspectRequest{Kind: kind}
	for _, change := range changes {
		change(&req)
	}
	inspector, _ := provider.As[provider.Inspector](t.trace.note("Inspect"))
	res, err := inspector.Inspect(t.ctx, req)
	t.ok(err)
	return res
}

func of(key provider.UUID) func(*provider.InspectRequest) {
	return func(r *provider.InspectRequest) { r.Key = key }
}

// listPages lists all matches in pages of size, and calls between before each next page.
func listPages(t *trial, filter provider.Filter, size int, between func()) []provider.Instance {
	return listPagesAfter(t, filter, size, func([]provider.Instance) { between() })
}

// listPagesAfter is listPages with a between that gets the rows listed so far.
func listPagesAfter(t *trial, filter provider.Filter, size int, between func(shown []provider.Instance)) []provider.Instance {
	var all []provider.Instance
	req := provider.ListRequest{Filter: filter, Max: size}
	for {
		res, err := t.List(t.ctx, req)
		t.ok(err)
		t.mustf(len(res.Instances) <= size, "a page has %d rows, want at most %d", len(res.Instances), size)
		all = append(all, res.Instances...)
		if res.Cursor == "" {
			return all
		}
		req.Cursor = res.Cursor
		between(all)
	}
}

func idsOf(list []provider.Instance) string {
	ids := make([]string, 0, len(list))
	for _, i := range list {
		ids = append(ids, i.ID)
	}
	return strings.Join(ids, " ")
}
