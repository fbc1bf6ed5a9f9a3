package kit

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/perdure/perdure/provider"
)

// FailureGrouper implements [provider.FailureGrouper] by scans. Each call reads all instances, as those of [Lister] do. It is safe for
// concurrent use if its functions are.
type FailureGrouper struct {
	Instances Scan[InstanceRow]
	Now       func() provider.Time // the store's clock
}

// FailureGroups implements provider.FailureGrouper.
func (g FailureGrouper) FailureGroups(ctx context.Context, req provider.FailureGroupsRequest) (res provider.FailureGroupsResult, err error) {
	if err := admit(ctx, req); err != nil {
		return res, err
	}
	found, err := collect(ctx, g.Instances, func(i *InstanceRow) bool {
		return i.Status == provider.StatusFailed && i.FailureGroup != "" && i.EndedAt >= req.EndedAfter &&
			(req.Group == "" || i.FailureGroup == req.Group)
	})
	if err != nil {
		return res, err
	}
	slices.SortFunc(found, func(a, b InstanceRow) int {
		return cmp.Or(cmp.Compare(b.EndedAt, a.EndedAt), bytes.Compare(b.Key[:], a.Key[:]))
	})
	res.Now, res.AtLeast = g.Now(), len(found) > provider.MaxGrouped
	members, order := map[string][]*provider.Instance{}, []string{}
	for n := range found[:min(len(found), provider.MaxGrouped)] {
		i := &found[n].Instance
		if req.Name != "" && req.Name != i.Name {
			continue
		}
		if members[i.FailureGroup] == nil {
			order = append(order, i.FailureGroup)
		}
		members[i.FailureGroup] = append(members[i.FailureGroup], i)
	}
	for _, name := range order[:min(len(order), cmp.Or(req.Max, provider.MaxPage))] {
		res.Groups = append(res.Groups, failureGroup(members[name], &req))
	}
	return res, nil
}

// failureGroup describes the instances of a group, of which the newest is first.
func failureGroup(list []*provider.Instance, req *provider.FailureGroupsRequest) provider.FailureGroup {
	newest, oldest := list[0], list[len(list)-1]
	versions, texts := map[string]bool{}, map[string]int64{}
	for _, i := range list {
		if len(versions) < provider.MaxGroupTexts {
			versions[i.CodeVersion] = true
		}
		texts[string(i.Excerpt)]++
	}
	g := provider.FailureGroup{
		Group: newest.FailureGroup, Name: newest.Name, Versions: slices.Sorted(maps.Keys(versions)), Count: int64(len(list)),
		First: oldest.EndedAt, Last: newest.EndedAt, Newest: newest.Key, Excerpt: newest.Excerpt,
	}
	if req.Group == "" {
		return g
	}
	order := slices.SortedFunc(maps.Keys(texts), func(a, b string) int { return cmp.Or(cmp.Compare(texts[b], texts[a]), cmp.Compare(a, b)) })
	for _, text := range order[:min(len(order), cmp.Or(req.Texts, provider.MaxGroupTexts))] {
		g.Texts = append(g.Texts, provider.FailedText{Excerpt: []byte(text), Count: texts[text]})
	}
	return g
}
