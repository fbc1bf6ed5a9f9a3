package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/perdure/perdure/provider"
)

// FailureGroups implements provider.FailureGrouper.
func (rd *reader) FailureGroups(ctx context.Context, req provider.FailureGroupsRequest) (res provider.FailureGroupsResult, err error) {
	err = rd.do(ctx, req, func(now provider.Time) error {
		res = provider.FailureGroupsResult{Now: now}
		var failed []*instance // newest first
		for _, i := range rd.instances.byKey {
			row := &i.row
			if row.Status == provider.StatusFailed && row.FailureGroup != "" && row.EndedAt >= req.EndedAfter &&
				(req.Group == "" || row.FailureGroup == req.Group) {
				failed = append(failed, i)
			}
		}
		slices.SortFunc(failed, func(a, b *instance) int { return byEnd(&b.row, a.row.EndedAt, a.row.Key) })
		if len(failed) > provider.MaxGrouped {
			failed, res.AtLeast = failed[:provider.MaxGrouped], true
		}
		members := map[string][]*instance{}
		var order []string
		for _, i := range failed {
			if req.Name != "" && i.row.Name != req.Name {
				continue
			}
			group := i.row.FailureGroup
			if members[group] == nil {
				order = append(order, group)
			}
			members[group] = append(members[group], i)
		}
		for _, group := range order[:min(len(order), cmp.Or(req.Max, provider.MaxPage))] {
			g := groupOf(members[group])
			if req.Group != "" {
				g.Texts = textsOf(members[group], cmp.Or(req.Texts, provider.MaxGroupTexts))
			}
			res.Groups = append(res.Groups, g)
		}
		return nil
	})
	return res, err
}

// groupOf describes the members of a group, of which the newest is first.
func groupOf(members []*instance) provider.FailureGroup {
	newest := &members[0].row
	versions := map[string]bool{}
	for _, i := range members {
		if len(versions) < provider.MaxGroupTexts {
			versions[i.row.CodeVersion] = true
		}
	}
	return provider.FailureGroup{
		Group: newest.FailureGroup, Name: newest.Name, Versions: slices.Sorted(maps.Keys(versions)), Count: int64(len(members)),
		First: members[len(members)-1].row.EndedAt, Last: newest.EndedAt, Newest: newest.Key, Excerpt: slices.Clone(newest.Excerpt),
	}
}

// textsOf counts the different excerpts of a group, and returns the most frequent.
func textsOf(members []*instance, most int) (texts []provider.FailedText) {
	counts := map[string]int64{}
	for _, i := range members {
		counts[string(i.row.Excerpt)]++
	}
	for text, n := range counts {
		texts = append(texts, provider.FailedText{Excerpt: []byte(text), Count: n})
	}
	slices.SortFunc(texts, func(a, b provider.FailedText) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), bytes.Compare(a.Excerpt, b.Excerpt))
	})
	return texts[:min(len(texts), most)]
}
