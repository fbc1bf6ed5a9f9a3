package model

import (
	"bytes"
	"slices"

	"github.com/perdure/perdure/provider"
)

func doFetchTurns(d *driver) {
	req := provider.FetchTurnsRequest{
		Owner: d.owner(), Token: d.token(), Lease: d.lease(), Capabilities: d.capabilities(), EngineLevel: d.level(),
		Max: pick(&d.source, 100, 2, 1), MaxMessages: pick(&d.source, 0, 0, 1, 2), MaxBytes: pick(&d.source, 0, 0, 3),
	}
	open := d.openTurns()
	if open {
		req.Max = 100
	}
	d.fetching = true
	res, err := call(d, "fetch turns", (*provider.Full).FetchTurns, always(req), func(s *side, res *provider.FetchTurnsResult) {
		for _, turn := range res.Turns {
			number(s, turn.Instance.Key, turn.Messages)
		}
		if open {
			slices.SortFunc(res.Turns, func(a, b provider.Turn) int { return bytes.Compare(a.Instance.Key[:], b.Instance.Key[:]) })
		}
	})
	if err != nil {
		return
	}
	for _, turn := range res.Turns {
		d.turns = append(d.turns, seenTurn{turn, req.Token})
	}
}

// number replaces the IDs of messages by their numbers.
func number(s *side, key provider.UUID, list []provider.Message) {
	for i := range list {
		list[i].ID = s.inbox(key).number(list[i].ID)
	}
}

// openTurns reports whether the contract leaves open which instance is fetched first. It does if two have been ready since
// the same instant, or if one was held back since its last commit.
func (w *world) openTurns() bool {
	seen := map[provider.Time]bool{}
	for _, row := range w.rows {
		if row.ReadyAt != 0 && seen[row.ReadyAt] || row.Deliveries > 0 || w.released[row.Version] {
			return true
		}
		seen[row.ReadyAt] = true
	}
	return false
}

// keepsPlace notes an act on an instance: an act gives it another Version, but only a commit ends the effect of a hold.
func (w *world) keepsPlace(id string, key, act provider.UUID) {
	for _, row := range w.rows {
		if (row.Key == key || row.ID == id) && (row.Deliveries > 0 || w.released[row.Version]) {
			w.released[act] = true
		}
	}
}

func doReleaseTurns(d *driver) {
	req := provider.ReleaseTurnsRequest{Items: some(&d.source, 1, d.drawRelease)}
	req.Items = append(req.Items, d.drawRelease())
	_, _ = call(d, "release turns", (*provider.Full).ReleaseTurns, always(req), nil)
	for _, row := range d.rows {
		for _, item := range req.Items {
			if item.Key == row.Key || item.Kind == provider.ReleaseToken {
				d.released[row.Version] = true
			}
		}
	}
}

func (w *world) drawRelease() provider.TurnRelease {
	item := provider.TurnRelease{Key: w.key(), Token: w.token(), Delay: w.delay()}
	if len(w.turns) > 0 && !w.odds(4) {
		turn := w.recentTurn()
		item.Key, item.Token = turn.Instance.Key, turn.token
	}
	switch {
	case w.odds(6):
		item.Kind, item.Key = provider.ReleaseToken, provider.UUID{}
	case w.odds(2):
		item.Kind = provider.ReleaseFailed
		item.Failure = &provider.TurnFailure{Reason: "panic", Message: pick(&w.source, "", "boom"), Hold: w.odds(3)}
	}
	return item
}
