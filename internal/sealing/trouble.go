package sealing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/provider"
)

var (
	_ provider.TaskLister     = (*Store)(nil)
	_ provider.FailureGrouper = (*Store)(nil)
)

// ListTasks implements provider.TaskLister. What cannot be opened stays sealed.
func (st *Store) ListTasks(ctx context.Context, req provider.ListTasksRequest) (provider.ListTasksResult, error) {
	res, err := st.Full.ListTasks(ctx, req)
	if err != nil {
		return res, err
	}
	o := new(opener)
	for i := range res.Tasks {
		o.whole(codec.Heartbeat, &res.Tasks[i].Details)
		o.whole(codec.Failure, &res.Tasks[i].Failure)
	}
	_ = st.open(ctx, callTimeout, o)
	return res, nil
}

// NoGroups says why failures have no groups with the codec; nil: they have, as far as the decorated store has. It is nil for a nil Store, too.
func (st *Store) NoGroups() error {
	if st == nil || !st.seals {
		return nil
	}
	if _, ok := st.codec.(codec.Digester); ok {
		return nil
	}
	return fmt.Errorf("%w: failures have no groups: the codec encrypts and is no codec.Digester: give it a method Digest", errors.ErrUnsupported)
}

// FailureGroups implements provider.FailureGrouper. What cannot be opened stays sealed. Equal excerpts are sealed to different bytes, so all of a
// group are read and opened before they are counted and cut: at most provider.MaxGrouped.
func (st *Store) FailureGroups(ctx context.Context, req provider.FailureGroupsRequest) (provider.FailureGroupsResult, error) {
	if err := st.NoGroups(); err != nil {
		return provider.FailureGroupsResult{}, err
	}
	most := cmp.Or(req.Texts, provider.MaxGroupTexts)
	if req.Group != "" && most > 0 {
		req.Texts = max(req.Texts, provider.MaxGrouped)
	}
	res, err := st.Full.FailureGroups(ctx, req)
	if err != nil {
		return res, err
	}
	o := new(opener)
	for i := range res.Groups {
		g := &res.Groups[i]
		o.whole(codec.Excerpt, &g.Excerpt)
		for j := range g.Texts {
			o.whole(codec.Excerpt, &g.Texts[j].Excerpt)
		}
	}
	_ = st.open(ctx, callTimeout, o)
	for i := range res.Groups {
		texts := merged(res.Groups[i].Texts)
		res.Groups[i].Texts = texts[:min(len(texts), most)]
	}
	return res, nil
}

// merged adds up the counts of equal excerpts. The most frequent is the first.
func merged(texts []provider.FailedText) (out []provider.FailedText) {
	at := make(map[string]int, len(texts))
	for _, text := range texts {
		i, seen := at[string(text.Excerpt)]
		if !seen {
			i = len(out)
			at[string(text.Excerpt)], out = i, append(out, provider.FailedText{Excerpt: text.Excerpt})
		}
		out[i].Count += text.Count
	}
	slices.SortFunc(out, func(a, b provider.FailedText) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), bytes.Compare(a.Excerpt, b.Excerpt))
	})
	return out
}
