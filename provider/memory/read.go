package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/provider"
)

// ReadHistory implements provider.Provider.
func (p *Provider) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (res provider.ReadHistoryResult, err error) {
	err = p.do(ctx, req, func(provider.Time) error {
		i, err := p.find("", req.Key)
		if err != nil {
			return err
		}
		n := cmp.Or(req.Execution, i.row.Execution)
		if i.status(n) == 0 {
			return provider.ErrNotFound
		}
		events := i.executions[n-1].events
		length := int64(len(events))
		res = provider.ReadHistoryResult{Execution: n, Status: i.status(n), Length: length, Version: i.row.Version}
		to := length
		if req.To > 0 {
			to = min(to, req.To)
		}
		room := cmp.Or(req.MaxBytes, provider.MaxFetchBytes)
		for id := req.From; id <= to; id++ {
			data := events[id-1]
			if room -= len(data); room < 0 && id > req.From {
				res.More = true
				break
			}
			res.Events = append(res.Events, provider.Event{ID: id, Data: slices.Clone(data)})
		}
		return nil
	})
	return res, err
}

// matching answers the instances that the filter lets through, newest first.
func (p *Provider) matching(f *provider.Filter) []*instance {
	var list []*instance
	for _, i := range p.instances {
		if (f.Replaced || p.current[i.row.ID] == i) && i.matches(f) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *instance) int { return compare(&b.row, a.row.CreatedAt, a.row.Key) })
	return list
}

// compare orders a row against a place in the order of creation.
func compare(row *provider.Instance, at provider.Time, key provider.UUID) int {
	return cmp.Or(cmp.Compare(row.CreatedAt, at), slices.Compare(row.Key[:], key[:]))
}

func (i *instance) matches(f *provider.Filter) bool {
	row := &i.row
	switch {
	case !strings.HasPrefix(row.ID, f.IDPrefix),
		f.Name != "" && f.Name != row.Name,
		len(f.Statuses) > 0 && !slices.Contains(f.Statuses, row.Status),
		f.Blocked && row.Blocked == nil,
		!f.ParentKey.IsZero() && f.ParentKey != row.Parent.Key,
		row.CreatedAt < f.CreatedAfter,
		f.CreatedBefore != 0 && row.CreatedAt >= f.CreatedBefore:
		return false
	}
	for _, a := range f.Attributes {
		if i.attributes[a.Name] != a {
			return false
		}
	}
	return true
}

// List implements provider.Provider.
func (p *Provider) List(ctx context.Context, req provider.ListRequest) (res provider.ListResult, err error) {
	err = p.do(ctx, req, func(now provider.Time) error {
		list := p.matching(&req.Filter)
		if req.Cursor != "" {
			at, key, err := readCursor(req.Cursor)
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(i *instance) bool { return compare(&i.row, at, key) >= 0 })
		}
		page := list[:min(len(list), cmp.Or(req.Max, provider.MaxPage))]
		res = provider.ListResult{Now: now}
		for _, i := range page {
			res.Instances = append(res.Instances, i.view())
		}
		if len(page) < len(list) {
			last := &page[len(page)-1].row
			res.Cursor = fmt.Sprintf("%d/%s", last.CreatedAt, last.Key)
		}
		return nil
	})
	return res, err
}

func readCursor(s string) (at provider.Time, key provider.UUID, err error) {
	created, id, _ := strings.Cut(s, "/")
	n, err := strconv.ParseInt(created, 10, 64)
	if err == nil {
		err = key.UnmarshalText([]byte(id))
	}
	if err != nil {
		return 0, key, fmt.Errorf("list: Cursor: %w: not one that List answered", provider.ErrInvalid)
	}
	return provider.Time(n), key, nil
}

// Count implements provider.Provider.
func (p *Provider) Count(ctx context.Context, req provider.CountRequest) (res provider.CountResult, err error) {
	err = p.do(ctx, req, func(provider.Time) error {
		res.Count = int64(len(p.matching(&req.Filter)))
		return nil
	})
	return res, err
}
