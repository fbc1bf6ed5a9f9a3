package upgrade

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// nodeSpace holds a record for each node, by the name under which it holds leases.
const nodeSpace = "perdure/nodes"

const (
	// Renewal is how often a node renews its record.
	Renewal = 15 * time.Minute
	// Dead is the age of a record whose node counts as dead.
	Dead = time.Hour
	// MaxListed bounds the orchestrations that a record lists.
	MaxListed = 200
	// leaving bounds the removal of a record. A record that stays counts as dead after an hour.
	leaving = time.Second
)

// Orchestration is what a node can run.
type Orchestration struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Node is the record of a node.
type Node struct {
	Owner          string          `json:"-"` // the name of its leases
	Release        string          `json:"release"`
	Level          int64           `json:"level"`                    // the highest that it runs
	Orchestrations []Orchestration `json:"orchestrations,omitempty"` // at most MaxListed, by name and version
	Count          int             `json:"count"`                    // of all of them
	System         []Orchestration `json:"system,omitempty"`         // those of perdure itself, which are not among the others
	Started        provider.Time   `json:"started"`
	Renewed        provider.Time   `json:"-"`

	// Releases that obey orders write these.
	Every  int64   `json:"every,omitempty"`  // seconds after which it writes its record again at the latest; 0: it obeys no orders
	Queues []Queue `json:"queues,omitempty"` // that it serves, by name
	Cut    bool    `json:"cut,omitempty"`    // it serves more than the record has
	Seen   int64   `json:"seen,omitempty"`   // version of the orders that it obeys
	State  State   `json:"state,omitempty"`
	Load   *Load   `json:"load,omitempty"`

	Fallbacks *Fallbacks `json:"fallbacks,omitempty"` // nil: it has none

	Counts *Counts `json:"counts,omitempty"` // nil: it keeps no figures, or its release does not
}

// Counts say from when to when all that a node did is in the records of its figures, by the storage's clock.
type Counts struct {
	Since provider.Time `json:"since"` // 0: it has just begun
	Until provider.Time `json:"until"`

	// The records by ten minutes and by the hour are written later than those by the minute, which are kept for two hours. These say until when
	// all is in them; 0: until Until.
	Tens  provider.Time `json:"tens,omitzero"`
	Hours provider.Time `json:"hours,omitzero"`

	Looks   Period `json:"looks,omitzero"`   // the last in which the node looked at what waits in queues; 0: it never did
	Silence Period `json:"silence,omitzero"` // the last in which it saw a node that keeps no figures; 0: there was none
}

// Period is a time without a break.
type Period struct {
	Since provider.Time `json:"since"`
	Until provider.Time `json:"until"`
}

// Fallbacks are the names that a node takes although it has not registered them, and those that it would take if they had to wait.
type Fallbacks struct {
	Orchestrations []Orchestration     `json:"orchestrations,omitempty"`
	Queues         []Queue             `json:"queues,omitempty"`
	Patterns       map[string][]string `json:"patterns,omitempty"` // of activities, by queue: names, or the beginning of names and an asterisk
}

// fits reports whether a pattern stands for an activity of a queue.
func (f *Fallbacks) fits(queue, activity string) bool {
	return f != nil && slices.ContainsFunc(f.Patterns[queue], func(p string) bool { return Fits(p, activity) })
}

// Fits reports whether a pattern of a fallback stands for a name: it is the name, or the beginning of it and an asterisk.
func Fits(pattern, name string) bool {
	begin, many := strings.CutSuffix(pattern, "*")
	return name == pattern || many && strings.HasPrefix(name, begin)
}

// WouldServe reports whether a fallback of the node takes an activity that waits for long enough.
func (n *Node) WouldServe(queue, activity string) bool { return n.Fallbacks.fits(queue, activity) }

// Queue is a queue that a node serves, with the activities that it runs.
type Queue struct {
	Name       string   `json:"name"`
	Activities []string `json:"activities,omitempty"`

	// Limits of the queue, of all nodes together, as this node applies them; 0: none.
	MaxConcurrent int     `json:"maxConcurrent,omitempty"`
	PerSecond     float64 `json:"perSecond,omitempty"`
}

// State says whether a node takes work.
type State string

// The states of a node.
const (
	Running  State = ""         // it takes work
	Draining State = "draining" // it takes none, and some still runs
	Drained  State = "drained"  // nothing runs on it
)

// Load is what runs on a node.
type Load struct {
	Turns         int            `json:"turns"`
	TurnSlots     int            `json:"turnSlots"`
	Activities    int            `json:"activities"`
	ActivitySlots int            `json:"activitySlots"`
	Queues        map[string]int `json:"queues,omitempty"` // activities that run, by queue

	Sessions     int                 `json:"sessions,omitempty"`     // that it holds
	SessionSlots int                 `json:"sessionSlots,omitempty"` // how many it may hold; -1: it takes none; 0: its release does not say
	Full         map[string][]string `json:"full,omitempty"`         // activities without a place in their pool or limit, by queue
}

// Lost reports whether a node has not renewed its record for so long that it was probably killed.
func (n *Node) Lost(now provider.Time) bool {
	if n.Every == 0 {
		return now.Sub(n.Renewed) > 2*Renewal+time.Minute
	}
	return now.Sub(n.Renewed) > 3*time.Duration(n.Every)*time.Second
}

// AllOrchestrations returns what the record lists, of users and of perdure itself, and what fallbacks take.
func (n *Node) AllOrchestrations() []Orchestration {
	all := slices.Concat(n.Orchestrations, n.System)
	if n.Fallbacks != nil {
		all = append(all, n.Fallbacks.Orchestrations...)
	}
	return all
}

// Serves reports whether the record lists an activity of a queue, or a fallback takes it.
func (n *Node) Serves(queue, activity string) bool {
	return n.Lists(queue, activity) || n.Fallbacks != nil && lists(n.Fallbacks.Queues, queue, activity)
}

// Lists reports whether the record lists an activity of a queue as registered.
func (n *Node) Lists(queue, activity string) bool { return lists(n.Queues, queue, activity) }

func lists(queues []Queue, queue, activity string) bool {
	return slices.ContainsFunc(queues, func(q Queue) bool { return q.Name == queue && slices.Contains(q.Activities, activity) })
}

// Cuts reports whether the record lists only a part of the orchestrations that the node has registered.
func (n *Node) Cuts() bool { return n.Count > len(n.Orchestrations) }

// Runs reports whether the record lists an orchestration, of a user or of perdure itself, or a fallback takes it.
func (n *Node) Runs(of provider.Capability) bool {
	o := Orchestration{Name: of.Name, Version: of.CodeVersion}
	return n.Registered(of) || n.Fallbacks != nil && slices.Contains(n.Fallbacks.Orchestrations, o)
}

// Registered reports whether the record lists an orchestration as registered.
func (n *Node) Registered(of provider.Capability) bool {
	o := Orchestration{Name: of.Name, Version: of.CodeVersion}
	return slices.Contains(n.Orchestrations, o) || slices.Contains(n.System, o)
}

// Release returns the version of this module in the running binary.
func Release() string {
	const path = "github.com/perdure/perdure"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	for _, m := range info.Deps {
		if m.Path == path {
			if m.Replace != nil {
				m = m.Replace
			}
			return cmp.Or(m.Version, "(devel)")
		}
	}
	if info.Main.Path == path {
		return cmp.Or(info.Main.Version, "(devel)")
	}
	return "(devel)"
}

// Membership keeps the record of a node as long as the node runs.
type Membership struct {
	level  *Level
	logger *slog.Logger

	absent  atomic.Bool   // the store keeps no records
	writing chan struct{} // held by who writes, or changes what follows; unlike a mutex it obeys deadlines, and does not stop virtual time
	node    Node
	version int64 // of the stored record; 0: there is none
	left    bool

	onDead func(ctx context.Context, n *Node) error // called before the record of a killed node is removed; nil: nothing is
}

// Join writes the record of a node. runs are its orchestrations, and more sets further fields; nil: none. The node may fetch work once Join
// has returned. A store without records lists no nodes.
func Join(
	ctx context.Context, level *Level, owner string, runs []provider.Capability, logger *slog.Logger, more func(n *Node),
) (*Membership, error) {
	m := &Membership{level: level, logger: logger, writing: make(chan struct{}, 1), node: Node{
		Owner: owner, Release: Release(), Level: level.own, Started: provider.TimeOf(time.Now()),
	}}
	if more != nil {
		more(&m.node)
	}
	for _, r := range runs {
		o := Orchestration{Name: r.Name, Version: r.CodeVersion}
		if reserved.Name(r.Name) {
			m.node.System = append(m.node.System, o)
		} else {
			m.node.Orchestrations = append(m.node.Orchestrations, o)
		}
	}
	slices.SortFunc(m.node.Orchestrations, compare)
	slices.SortFunc(m.node.System, compare)
	m.node.Count = len(m.node.Orchestrations)
	m.node.Orchestrations = m.node.Orchestrations[:min(m.node.Count, MaxListed)]
	_, err := m.Report(ctx, func(*Node) {})
	return m, err
}

// compare orders orchestrations by name and version.
func compare(a, b Orchestration) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
}

// Report changes the record and writes it, unless the node has left. It reports whether the record is stored.
func (m *Membership) Report(ctx context.Context, change func(n *Node)) (stored bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if err := m.lock(ctx); err != nil {
		return false, fmt.Errorf("registering the node: %w", err)
	}
	defer m.unlock()
	change(&m.node)
	err = m.write(ctx)
	return err == nil && m.version != 0, err
}

// lock waits until nobody else writes.
func (m *Membership) lock(ctx context.Context) error {
	select {
	case m.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *Membership) unlock() { <-m.writing }

// OnDead sets what is done before the record of a node that was killed and had counted is removed. If it returns an error, the record stays for
// another try. It must be called before Run.
func (m *Membership) OnDead(do func(ctx context.Context, n *Node) error) { m.onDead = do }

// Run renews the record until ctx is done, and then removes it. With each renewal it removes the records of dead nodes.
// It reads the level of the store once a minute while that is lower than the level of the node.
func (m *Membership) Run(ctx context.Context) {
	next := Renewal
	if !m.isStored(ctx) {
		next = reread // the store failed when the node started
	}
	renew := time.NewTimer(next)
	defer renew.Stop()
	levelTick := time.NewTicker(reread)
	defer levelTick.Stop()
	for !m.absent.Load() {
		ticks := levelTick.C
		if m.level.settled() {
			ticks = nil
			levelTick.Stop()
		}
		select {
		case <-ctx.Done():
			m.leave(ctx)
			return
		case <-ticks:
			m.level.Current(ctx)
		case <-renew.C:
			next = Renewal
			if _, err := m.Report(ctx, func(*Node) {}); err != nil && ctx.Err() == nil {
				m.logger.Warn("the record of this node is not renewed: trying again in a minute", "err", err)
				next = reread
			}
			m.prune(ctx)
			renew.Reset(next)
		}
	}
}

// Stay is Run in a test whose store keeps the records of running nodes young: it removes the record when ctx is done.
func (m *Membership) Stay(ctx context.Context) {
	<-ctx.Done()
	m.leave(ctx)
}

// write stores the record. If another process has removed or written it meanwhile, it is stored anew. The caller holds the lock.
func (m *Membership) write(ctx context.Context) error {
	if m.left {
		return nil
	}
	value, err := json.Marshal(m.node)
	if err != nil {
		return fmt.Errorf("registering the node: %w", err)
	}
	put := provider.RecordRequest{Action: provider.RecordPut, Namespace: nodeSpace, Key: m.node.Owner, Value: value, Expect: m.version}
	res, err := m.level.store.Record(ctx, put)
	if errors.Is(err, provider.ErrConflict) {
		if put.Expect, err = m.stored(ctx); err == nil {
			res, err = m.level.store.Record(ctx, put)
		}
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		m.absent.Store(true)
		return nil
	case err != nil:
		return fmt.Errorf("registering the node: %w", err)
	}
	m.version = put.Expect + 1
	if len(res.Records) > 0 {
		m.version = res.Records[0].Version
	}
	return nil
}

// isStored reports whether the record was stored.
func (m *Membership) isStored(ctx context.Context) bool {
	if m.lock(ctx) != nil {
		return false
	}
	defer m.unlock()
	return m.version != 0
}

// stored returns the version of the stored record, 0 if there is none.
func (m *Membership) stored(ctx context.Context) (int64, error) {
	res, err := m.level.store.Record(ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: nodeSpace, Key: m.node.Owner})
	if errors.Is(err, provider.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return res.Records[0].Version, nil
}

// prune removes the records of nodes that were killed. It is no matter if that fails: they are not listed.
func (m *Membership) prune(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaving)
	defer cancel()
	_, dead, _, err := records(ctx, m.level.store)
	if err != nil {
		return
	}
	for _, r := range dead {
		n := Node{Owner: r.Key, Renewed: r.UpdatedAt}
		if dead := m.onDead; dead != nil && json.Unmarshal(r.Value, &n) == nil && n.Counts != nil && dead(ctx, &n) != nil {
			continue
		}
		_ = remove(ctx, m.level.store, r.Key, r.Version)
	}
}

// leave removes the record.
func (m *Membership) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer cancel()
	if m.lock(ctx) != nil {
		return // the record of a node that does not renew it counts as lost
	}
	defer m.unlock()
	m.left = true
	_ = remove(ctx, m.level.store, m.node.Owner, m.version)
}

func remove(ctx context.Context, store provider.Keeper, owner string, version int64) error {
	_, err := store.Record(ctx, provider.RecordRequest{Action: provider.RecordDelete, Namespace: nodeSpace, Key: owner, Expect: version})
	return err
}

// Nodes returns the nodes whose records are not older than an hour, by owner. now is the time of the store. A store
// without records returns an error that wraps errors.ErrUnsupported.
func Nodes(ctx context.Context, store provider.Keeper) (nodes []Node, now provider.Time, err error) {
	nodes, _, now, err = records(ctx, store)
	return nodes, now, err
}

// AllNodes returns, besides those of Nodes, the nodes that were killed longer ago and whose records no other node has removed yet.
func AllNodes(ctx context.Context, store provider.Keeper) (nodes []Node, now provider.Time, err error) {
	nodes, dead, now, err := records(ctx, store)
	for _, r := range dead {
		n := Node{Owner: r.Key, Renewed: r.UpdatedAt}
		if json.Unmarshal(r.Value, &n) == nil {
			nodes = append(nodes, n)
		}
	}
	return nodes, now, err
}

// records returns the nodes, and the records that are older than an hour.
func records(ctx context.Context, store provider.Keeper) (nodes []Node, dead []provider.Record, now provider.Time, err error) {
	scan := provider.RecordRequest{Action: provider.RecordScan, Namespace: nodeSpace, Max: 100}
	for {
		res, err := store.Record(ctx, scan)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("listing nodes: %w", err)
		}
		now = res.Now
		for _, r := range res.Records {
			if now.Sub(r.UpdatedAt) > Dead {
				dead = append(dead, r)
				continue
			}
			n := Node{Owner: r.Key, Renewed: r.UpdatedAt}
			if err := json.Unmarshal(r.Value, &n); err != nil {
				return nil, nil, 0, fmt.Errorf("listing nodes: record of %q: %w", r.Key, err)
			}
			nodes = append(nodes, n)
		}
		if len(res.Records) < scan.Max {
			return nodes, dead, now, nil
		}
		scan.Key = res.Records[len(res.Records)-1].Key
	}
}
