package upgrade

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Bounds of what ReadStatus reads.
const (
	maxListPages  = 10    // of running instances
	maxLeasePages = 1_000 // of each kind of row with leases
	maxUnknown    = 100   // owners that are named
)

// Count is a number of running instances of a level.
type Count struct {
	Level     int64
	Instances int64
}

// Status is the state of an upgrade of a store.
type Status struct {
	Allowed   int64 // that new executions may use
	Recorded  bool  // the store has a record of it
	Nodes     []Node
	Unknown   []string // lease owners without a record, at most 100: nodes of a release that writes none, or killed ones
	Unchecked string   // why there may be more lease owners; "": all were looked at
	Running   []Count  // by level, the lowest first
	Cut       bool     // there are more running instances than were counted
	version   int64    // of the record
}

// Above returns how many of the counted instances a node of a level cannot run.
func (s *Status) Above(level int64) (n int64) {
	for _, c := range s.Running {
		if c.Level > level {
			n += c.Instances
		}
	}
	return n
}

// ReadStatus reads the state of an upgrade. A store without records returns an error that wraps errors.ErrUnsupported.
func ReadStatus(ctx context.Context, store *provider.Full) (s Status, err error) {
	switch r, err := find(ctx, store); {
	case err == nil:
		s.Allowed, s.Recorded, s.version = r.Level, true, r.version
	case errors.Is(err, provider.ErrNotFound):
		s.Allowed = Unrecorded
	default:
		return s, err
	}
	if s.Nodes, _, err = Nodes(ctx, store); err != nil {
		return s, err
	}
	if err := s.owners(ctx, store); err != nil {
		return s, err
	}
	return s, s.count(ctx, store)
}

// count counts running instances by level.
func (s *Status) count(ctx context.Context, store provider.Lister) error {
	req := provider.ListRequest{
		Filter: provider.Filter{Statuses: []provider.Status{provider.StatusRunning, provider.StatusSuspended}, Replaced: true},
		Omit:   []provider.ListField{provider.ListAttributes, provider.ListCustomStatus, provider.ListBlockedMessage},
	}
	counts := map[int64]int64{}
	for range maxListPages {
		res, err := store.List(ctx, req)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("counting running instances: %w", err)
		}
		for i := range res.Instances {
			counts[res.Instances[i].EngineLevel]++
		}
		req.Cursor = res.Cursor
		if s.Cut = req.Cursor != ""; !s.Cut {
			break
		}
	}
	for _, level := range slices.Sorted(maps.Keys(counts)) {
		s.Running = append(s.Running, Count{level, counts[level]})
	}
	return nil
}

// owners finds those of leases that no record names.
func (s *Status) owners(ctx context.Context, store provider.Provider) error {
	inspector, ok := provider.As[provider.Inspector](store)
	if !ok {
		s.Unchecked = "the store does not show its leases"
		return nil
	}
	unknown := map[string]bool{}
	for _, kind := range []provider.InspectKind{provider.InspectTurnLeases, provider.InspectTasks} {
		if err := s.ownersOf(ctx, inspector, kind, unknown); err != nil {
			return err
		}
	}
	s.Unknown = slices.Sorted(maps.Keys(unknown))
	if len(s.Unknown) > maxUnknown {
		s.Unknown, s.Unchecked = s.Unknown[:maxUnknown], fmt.Sprintf("%d more are not named", len(s.Unknown)-maxUnknown)
	}
	return nil
}

// ownersOf adds the owners of one kind of lease.
func (s *Status) ownersOf(ctx context.Context, store provider.Inspector, kind provider.InspectKind, unknown map[string]bool) error {
	req := provider.InspectRequest{Kind: kind}
	for range maxLeasePages {
		res, err := store.Inspect(ctx, req)
		if err != nil {
			return fmt.Errorf("looking for nodes without a record: %w", err)
		}
		for i := range res.TurnLeases {
			s.owner(&res.TurnLeases[i].Lease, unknown)
		}
		for i := range res.Tasks {
			if res.Tasks[i].State == provider.TaskLeased {
				s.owner(&res.Tasks[i].Lease, unknown)
			}
		}
		if req.Cursor = res.Cursor; req.Cursor == "" {
			return nil
		}
	}
	s.Unchecked = "the store has more tasks than were looked at"
	return nil
}

// owner adds the owner of a lease that may still be alive.
func (s *Status) owner(l *provider.LeaseRow, unknown map[string]bool) {
	known := slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Owner == l.Owner })
	if !l.Over && !l.OwnerGone && !known {
		unknown[l.Owner] = true
	}
}
