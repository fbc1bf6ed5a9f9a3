package model

import (
	"slices"

	"github.com/perdure/perdure/provider"
)

func doDelete(d *driver) {
	req := provider.DeleteRequest{Force: d.odds(2)}
	req.ID, req.Key = d.target()
	_, _ = call(d, "delete", provider.Provider.Delete, always(req), nil)
}

func doPrune(d *driver) {
	req := provider.PruneRequest{Age: pick(&d.source, 0, 0, 0, long), Max: pick(&d.source, 0, 1)}
	_, _ = call(d, "prune", provider.Provider.Prune, always(req), nil)
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
	_, _ = call(d, "dead letters", provider.Provider.DeadLetters, func(s *side) provider.DeadLettersRequest {
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
