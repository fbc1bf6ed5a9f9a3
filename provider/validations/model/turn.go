package model

import (
	"bytes"
	"slices"

	"github.com/perdure/perdure/provider"
)

func doFetchTurns(d *driver) {
	req := provider.FetchTurnsRequest{
		Owner: d.owner(), Token: d.token(), Lease: d.lease(), Capabilities: d.capabilities(), EngineLevel: d.level(),
		Max: pick(d, 100, 2, 1), MaxMessages: pick(d, 0, 0, 1, 2), MaxBytes: pick(d, 0, 0, 3),
	}
	open := d.openTurns()
	if open {
		req.Max = 100
	}
	res, err := call(d, "fetch turns", provider.Provider.FetchTurns, always(req), func(s *side, res *provider.FetchTurnsResult) {
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

// number gives messages the numbers under which they are known.
func number(s *side, key provider.UUID, list []provider.Message) {
	for i := range list {
		list[i].ID = s.inbox(key).number(list[i].ID)
	}
}

// openTurns tells whether the contract leaves open which instance is fetched first: if two have been
// ready since the same instant, or one was held back since its last commit.
func (d *driver) openTurns() bool {
	seen := map[provider.Time]bool{}
	for _, row := range d.rows {
		if row.ReadyAt != 0 && seen[row.ReadyAt] || row.Deliveries > 0 || d.released[row.Version] {
			return true
		}
		seen[row.ReadyAt] = true
	}
	return false
}

func doReleaseTurns(d *driver) {
	req := provider.ReleaseTurnsRequest{Items: some(d, 1, d.release)}
	req.Items = append(req.Items, d.release())
	_, _ = call(d, "release turns", provider.Provider.ReleaseTurns, always(req), nil)
	for _, row := range d.rows {
		for _, item := range req.Items {
			if item.Key == row.Key || item.Key.IsZero() {
				d.released[row.Version] = true
			}
		}
	}
}

func (d *driver) release() provider.TurnRelease {
	item := provider.TurnRelease{Key: d.key(), Token: d.token(), Delay: d.delay()}
	if len(d.turns) > 0 && !d.odds(4) {
		turn := d.recentTurn()
		item.Key, item.Token = turn.Instance.Key, turn.token
	}
	switch {
	case d.odds(6):
		item.Key = provider.UUID{} // all that the token holds
	case d.odds(2):
		item.Failure = &provider.TurnFailure{Reason: "panic", Message: pick(d, "", "boom"), Hold: d.odds(3)}
	}
	return item
}

// recentTurn draws a turn that was fetched, likely the last one; there must be one.
func (d *driver) recentTurn() seenTurn {
	back := min(pick(d, 0, 0, 0, 1, 2, 5), len(d.turns)-1)
	return d.turns[len(d.turns)-1-back]
}
