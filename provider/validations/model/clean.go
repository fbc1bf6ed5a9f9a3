package model

import (
	"slices"

	"github.com/perdure/perdure/provider"
)

func doDelete(d *driver) {
	req := provider.DeleteRequest{Force: d.odds(2)}
	req.ID, req.Key = d.target()
	res, _ := call(d, "delete", (*provider.Full).Delete, always(req), nil)
	d.forgetCreate(res.Instances)
}

// forgetCreate keeps a deleted instance from being made again. No caller uses a key twice.
func (d *driver) forgetCreate(deleted int64) {
	if deleted > 0 {
		d.lastCreate.req = nil
	}
}

func doPrune(d *driver) {
	req := provider.PruneRequest{Age: pick(&d.source, 0, 0, 0, long), Max: pick(&d.source, 0, 1)}
	if d.odds(3) {
		req.Names = some(&d.source, 1, d.kind)
		req.Statuses = some(&d.source, 2, func() provider.Status { return provider.StatusCompleted + provider.Status(d.n(4)) })
	}
	res, _ := call(d, "prune", (*provider.Full).Prune, always(req), func(_ *side, res *provider.PruneResult) {
		res.Cursor = "" // a store may look on although nothing is left
	})
	d.forgetCreate(res.Instances)
}

func doLetters(d *driver) {
	req := provider.DeadLettersRequest{Action: pick(&d.source, provider.DeadLettersRedrive, provider.DeadLettersDiscard, provider.DeadLettersList)}
	cursor, ids := int64(d.n(4)), []int64{}
	if req.Action == provider.DeadLettersList {
		req.Max = d.n(3)
	} else {
		known := len(d.model.letters.ids)
		for back := range 4 {
			if known > back && d.odds(2) {
				ids = append(ids, int64(known-back))
			}
		}
		if d.odds(2) {
			slices.Reverse(ids)
		}
	}
	_, _ = call(d, "dead letters", (*provider.Full).DeadLetters, func(s *side) provider.DeadLettersRequest {
		r := req
		if req.Action == provider.DeadLettersList && cursor > 0 {
			r.Cursor = s.letters.id(cursor)
		}
		for _, n := range ids {
			r.IDs = append(r.IDs, s.letters.id(n))
		}
		return r
	}, numberLetters)
}

// numberLetters replaces the IDs of letters by their numbers and drops reasons that are a provider's own words.
func numberLetters(s *side, res *provider.DeadLettersResult) {
	for i := range res.Letters {
		l := &res.Letters[i]
		l.ID = s.letters.number(l.ID)
		if l.Reason != "closed" && l.Reason != "poison" {
			l.Reason = ""
		}
	}
}
