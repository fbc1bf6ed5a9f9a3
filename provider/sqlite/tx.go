package sqlite

import (
	"math"

	"github.com/perdure/perdure/provider"
)

// A tx is what members of a group run in: the writer's transaction. Only the writer's
// goroutine touches it. Rows of instances are held as heads in memory and written back
// once, however many members touch them.
type tx struct {
	db      statements
	writer  *writer
	now     provider.Time // strictly rising from member to member
	elapsed int64
	skew    int64 // of the clocks, the same for the whole transaction
	changes int   // heads and rows changed so far
	heads   map[provider.UUID]*head
	dirty   []*head
	kinds   kinds
	fx      effects
	buf     []byte // of packed events, reused
}

// effects are what others must hear of once the transaction is durable.
type effects struct {
	readyKinds     map[int64]struct{} // kinds of instances that became fetchable
	readyTaskKinds map[int64]struct{}
	expired        bool // a task may be past its deadline
	asks           bool // a question was left
	due            provider.Time
	elapsedDue     int64
	changed        []change
	answered       []answered
	notices        []provider.Notice
	enrolled       []string // owners that the file did not have
	dropped        int64
	turns          int64
}

// A change is news for calls that wait for an instance.
type change struct {
	key provider.UUID
	row *provider.Instance // the ended row if somebody waited for it; nil: read it
}

type answered struct {
	id      provider.UUID
	payload []byte
	now     provider.Time
}

const never = math.MaxInt64

func newEffects() effects {
	return effects{
		readyKinds: make(map[int64]struct{}), readyTaskKinds: make(map[int64]struct{}),
		due: never, elapsedDue: never,
	}
}

// merge adds what a later member did.
func (fx *effects) merge(o effects) {
	for k := range o.readyKinds {
		fx.readyKinds[k] = struct{}{}
	}
	for k := range o.readyTaskKinds {
		fx.readyTaskKinds[k] = struct{}{}
	}
	fx.expired = fx.expired || o.expired
	fx.asks = fx.asks || o.asks
	fx.due = min(fx.due, o.due)
	fx.elapsedDue = min(fx.elapsedDue, o.elapsedDue)
	fx.changed = append(fx.changed, o.changed...)
	fx.answered = append(fx.answered, o.answered...)
	fx.notices = append(fx.notices, o.notices...)
	fx.enrolled = append(fx.enrolled, o.enrolled...)
	fx.dropped += o.dropped
	fx.turns += o.turns
}

// tick gives the next member its own instant, so that order of insertion is order of
// time.
func (t *tx) tick() {
	now := max(t.writer.store.clock.wall(), t.now+1)
	t.now, t.elapsed = now, int64(now)-t.skew
}

// exec runs a writing statement.
func (t *tx) exec(sql string, args ...any) (int64, error) {
	n, err := t.db.exec(sql, args...)
	if n > 0 {
		t.changes++
	}
	return n, err
}

func (t *tx) each(sql string, fn func(*row) error, args ...any) error {
	return t.db.each(sql, fn, args...)
}

func (t *tx) one(sql string, fn func(*row), args ...any) (bool, error) {
	return t.db.one(sql, fn, args...)
}

func (t *tx) integer(sql string, args ...any) (int64, error) {
	return t.db.integer(sql, args...)
}

// forget drops all that is cached of the file.
func (t *tx) forget() {
	clear(t.heads)
	t.dirty = t.dirty[:0]
	t.kinds.loaded = false
}

func (t *tx) wake(at provider.Time) { t.fx.due = min(t.fx.due, at) }

func (t *tx) wakeElapsed(at int64) { t.fx.elapsedDue = min(t.fx.elapsedDue, at) }

func (t *tx) notice(key provider.UUID, execution, event int64) {
	t.fx.notices = append(t.fx.notices, provider.Notice{Key: key, Execution: execution, EventID: event})
}

// lease answers when a lease of d that begins now ends.
func (t *tx) lease(micros int64) int64 {
	t.wakeElapsed(t.elapsed + micros)
	return t.elapsed + micros
}

// until turns an instant of the elapsed clock into one of the wall clock.
func (t *tx) until(elapsed int64) provider.Time {
	if elapsed == 0 {
		return 0
	}
	return provider.Time(elapsed + t.skew)
}
