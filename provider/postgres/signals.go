package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// maxPayload is what one notification may carry; Postgres takes less than 8,000 bytes.
	maxPayload = 7_500
	// Delays before a lost connection is tried again.
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
	// maxPending is how many instances, answers and notices wait for a lost connection; beyond it the others look at everything.
	maxPending = 10_000
	// quiet is how long nothing is heard before the connection is tested.
	quiet = 20 * time.Second
)

// signal is what one process tells the others of its commits.
type signal struct {
	Node    string            `json:"n"`
	Turns   []int64           `json:"t,omitempty"` // kinds
	Tasks   []int64           `json:"k,omitempty"` // kinds
	Freed   []int64           `json:"f,omitempty"` // kinds of tasks that are not leased any more, where that matters to somebody
	Expired bool              `json:"x,omitempty"`
	Asks    bool              `json:"q,omitempty"`
	Due     provider.Time     `json:"d,omitempty"`
	Changed []provider.UUID   `json:"c,omitempty"` // instances that ended, were blocked or are gone
	Answers []provider.UUID   `json:"a,omitempty"`
	Notices []provider.Notice `json:"s,omitempty"`
	Lost    bool              `json:"l,omitempty"` // other signals were dropped: look at everything
}

func (s *signal) empty() bool {
	return len(s.Turns)+len(s.Tasks)+len(s.Freed)+len(s.Changed)+len(s.Answers)+len(s.Notices) == 0 && !s.Expired && !s.Asks && !s.Lost && s.Due == 0
}

// signals tells the calls of this process that wait, and those of the others.
type signals struct {
	p       *Provider
	node    string
	channel string
	ctx     context.Context //nolint:containedctx // it ends with the provider
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	hears   atomic.Bool // what other processes say
	peers   peers

	mu      sync.Mutex
	parked  map[*parked]struct{}
	resting map[string]*rest   // by owner of turns
	restFor time.Duration      // a test may set it
	pending relational.Effects // not yet sent
	lost    bool               // and some that never will be
	ready   chan struct{}
}

func startSignals(p *Provider) *signals {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(p.opts.Schema)) // never fails
	s := &signals{
		p: p, node: fmt.Sprintf("%016x", rand.Uint64()), channel: fmt.Sprintf("perdure_%016x", hash.Sum64()),
		parked: make(map[*parked]struct{}), resting: make(map[string]*rest), restFor: restFor,
		pending: relational.NewEffects(), ready: make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancel(p.hard)
	if p.opts.Pooler && p.opts.ListenURL == "" {
		p.opts.Logger.Warn("perdure postgres: behind a pooler nothing is heard from other processes for up to 5 s; set ListenURL")
	} else {
		s.ended.Go(func() { s.keep("listen", s.listen) })
	}
	s.ended.Go(func() { s.keep("notify", s.send) })
	return s
}

func (s *signals) stop() {
	s.cancel()
	s.ended.Wait()
}

func (s *signals) add(call *parked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parked[call] = struct{}{}
}

// awaited tells whether calls of this process wait for work.
func (s *signals) awaited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.parked) > 0
}

// publish tells of a commit: this process at once, but for a call that knows, the others soon.
func (s *signals) publish(fx *relational.Effects, knows *parked) {
	s.deliver(s.encode(fx), knows)
	for _, a := range fx.Answers {
		s.p.hub.Reply(a)
	}
	s.keepFor(fx)
}

// hint tells everybody to look whether there are such effects.
func (s *signals) hint(fx *relational.Effects) {
	s.deliver(s.encode(fx), nil)
	s.keepFor(fx)
}

// keepFor keeps effects until they can be sent.
func (s *signals) keepFor(fx *relational.Effects) {
	s.mu.Lock()
	if len(s.pending.Changed)+len(s.pending.Answers)+len(s.pending.Notices) > maxPending {
		s.pending.Changed, s.pending.Answers, s.pending.Notices, s.lost = nil, nil, nil, true
	}
	s.pending.Merge(fx)
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// take answers what is to be sent.
func (s *signals) take() (fx relational.Effects, out *signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fx = s.pending
	out = s.encode(&fx)
	if now := s.p.warm.clock.now(); now > 0 && out.Due > now.Add(fallback) {
		out.Due = 0 // until then all of them look by themselves
	}
	out.Lost = s.lost
	s.pending, s.lost = relational.NewEffects(), false
	return fx, out
}

func (s *signals) encode(fx *relational.Effects) *signal {
	out := &signal{Node: s.node, Expired: fx.Expired, Asks: fx.Asks, Changed: fx.Changed, Notices: fx.Notices}
	for kind := range fx.Turns {
		out.Turns = append(out.Turns, kind)
	}
	for kind := range fx.Tasks {
		out.Tasks = append(out.Tasks, kind)
	}
	kinds := s.p.kinds.get()
	for kind := range fx.Freed {
		if kinds.Awaited(kind) || s.p.kinds.stale.Load() {
			out.Freed = append(out.Freed, kind)
		}
	}
	for _, a := range fx.Answers {
		out.Answers = append(out.Answers, a.ID)
	}
	if due := min(fx.Due, provider.Time(fx.ElapsedDue)); due != relational.Never {
		out.Due = due
	}
	return out
}

// deliver wakes the calls of this process that a signal concerns, but for one.
func (s *signals) deliver(in *signal, but *parked) {
	s.p.kinds.note(in)
	s.mu.Lock()
	for call := range s.parked {
		if call != but {
			call.hear(in)
		} else if in.Due > 0 {
			call.lower(int64(in.Due.Add(-call.lead)))
		}
	}
	for _, rest := range s.resting {
		rest.call.hear(in)
	}
	s.mu.Unlock()
	for _, key := range in.Changed {
		s.p.hub.Tell(key, nil)
	}
	s.p.hub.Announce(in.Notices)
	if len(in.Answers) > 0 {
		s.p.hub.Recheck()
	}
}

// hear takes what a signal says to the call.
func (call *parked) hear(in *signal) {
	switch {
	case call.wants(in):
		call.rouse()
	case in.Due > 0:
		call.expect(int64(in.Due.Add(-call.lead)))
	}
}

// wakeAll makes everyone look: notifications may have been lost.
func (s *signals) wakeAll() {
	s.p.kinds.stale.Store(true)
	s.p.hub.Doubt()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.resting)
	for call := range s.parked {
		call.rouse()
	}
	s.p.hub.Recheck()
}

// keep runs work on a connection of its own, and again on another one when that is lost.
func (s *signals) keep(what string, work func(*pgx.Conn) error) {
	for retry := firstRetry; s.ctx.Err() == nil; retry = min(2*retry, lastRetry) {
		began := time.Now()
		err := s.connected(work)
		if s.ctx.Err() != nil {
			return
		}
		s.p.opts.Logger.Warn("perdure postgres: notifications are interrupted", "part", what, "error", err)
		if time.Since(began) > lastRetry {
			retry = firstRetry
		}
		timer := time.NewTimer(retry/2 + time.Duration(rand.Int64N(int64(retry))))
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
		}
	}
}

func (s *signals) connected(work func(*pgx.Conn) error) error {
	ctx, cancel := s.p.bounded(s.ctx)
	defer cancel()
	config, err := s.p.listenConfig(ctx)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	err = work(conn)
	closing, done := context.WithTimeout(context.WithoutCancel(s.ctx), time.Second)
	defer done()
	return errors.Join(err, conn.Close(closing))
}

// listenConfig says where notifications are exchanged.
func (p *Provider) listenConfig(ctx context.Context) (*pgx.ConnConfig, error) {
	if p.opts.ListenURL != "" {
		config, err := pgxpool.ParseConfig(p.opts.ListenURL) // which also takes the parameters of a pool
		if err != nil {
			return nil, fmt.Errorf("ListenURL: %w", badURL(p.opts.ListenURL, err))
		}
		return config.ConnConfig, nil
	}
	config := p.pool.Config()
	if before := config.BeforeConnect; before != nil { // it may bring a fresh password
		if err := before(ctx, config.ConnConfig); err != nil {
			return nil, err
		}
	}
	return config.ConnConfig, nil
}

// listen hears of the commits of other processes.
func (s *signals) listen(conn *pgx.Conn) error {
	if _, err := conn.Exec(s.ctx, "LISTEN "+pgx.Identifier{s.channel}.Sanitize()); err != nil {
		return err
	}
	defer interrupting(s.ctx, conn.PgConn().Conn())()
	s.hears.Store(true)
	defer func() {
		s.hears.Store(false)
		s.p.kinds.stale.Store(true)
		s.p.hub.Doubt()
	}()
	s.wakeAll()
	own := `{"n":"` + s.node + `"` // how what this process has sent begins
	for {
		n, err := s.hear(conn)
		if err != nil {
			return err
		}
		if strings.HasPrefix(n.Payload, own) {
			continue
		}
		s.peers.heard(n.Payload, time.Now())
		var in signal
		switch err := json.Unmarshal([]byte(n.Payload), &in); { //nolint:musttag // a Notice goes by its own names
		case err != nil || in.Lost: // from a newer release, or what it says is incomplete
			s.wakeAll()
		default:
			s.deliver(&in, nil)
		}
	}
}

// hear waits for a notification. A connection on which nothing came for long is tested: the other end may be
// gone without a word.
func (s *signals) hear(conn *pgx.Conn) (*pgconn.Notification, error) {
	watched := context.WithoutCancel(s.ctx) // by listen
	for socket := conn.PgConn().Conn(); ; {
		if err := socket.SetReadDeadline(time.Now().Add(quiet)); err != nil {
			return nil, err
		}
		if err := s.ctx.Err(); err != nil { // else it ends the waiting from now on
			return nil, err
		}
		n, err := conn.WaitForNotification(watched)
		if err == nil || s.ctx.Err() != nil || !pgconn.Timeout(err) {
			return n, err
		}
		if err := s.test(conn, socket); err != nil {
			return nil, err
		}
	}
}

// test asks the other end whether it is there.
func (s *signals) test(conn *pgx.Conn, socket net.Conn) error {
	if err := socket.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	ctx, cancel := s.p.bounded(s.ctx)
	defer cancel()
	return conn.Ping(ctx)
}

// send tells other processes, outside of all commits: a NOTIFY inside of them would make
// them wait for each other.
func (s *signals) send(conn *pgx.Conn) error {
	gather := time.NewTimer(0)
	defer gather.Stop()
	for {
		select {
		case <-s.ready:
		case <-s.ctx.Done():
			return s.sendPending(conn)
		}
		select {
		case <-gather.C: // long since the last one
		case <-s.ctx.Done():
			return s.sendPending(conn)
		}
		if err := s.sendPending(conn); err != nil {
			return err
		}
		gather.Reset(s.peers.gather(time.Now()))
	}
}

// sendPending sends what there is, also while the provider closes: others would look for it only at their next poll.
func (s *signals) sendPending(conn *pgx.Conn) error {
	fx, out := s.take()
	if out.empty() {
		return nil
	}
	err := s.notify(s.p.calling.Context(), conn, out)
	if err != nil {
		s.restore(&fx, out.Lost)
	}
	return err
}

// restore keeps what could not be sent for the next connection.
func (s *signals) restore(fx *relational.Effects, lost bool) {
	s.mu.Lock()
	s.lost = s.lost || lost
	s.mu.Unlock()
	s.keepFor(fx)
}

// notify sends a signal, in several parts if it is too long for one.
func (s *signals) notify(ctx context.Context, conn *pgx.Conn, out *signal) error {
	payload, err := json.Marshal(out) //nolint:musttag // a Notice goes by its own names
	if err != nil {
		return err
	}
	if len(payload) > maxPayload {
		a, b := out.split()
		return errors.Join(s.notify(ctx, conn, a), s.notify(ctx, conn, b))
	}
	return s.p.say(ctx, conn, loneStep{"SELECT pg_notify($1, $2)", []any{s.channel, string(payload)}})
}

// split halves a signal.
func (s *signal) split() (a, b *signal) {
	a, b = &signal{Node: s.Node, Expired: s.Expired, Asks: s.Asks, Due: s.Due, Lost: s.Lost}, &signal{Node: s.Node}
	a.Turns, b.Turns = halves(s.Turns)
	a.Tasks, b.Tasks = halves(s.Tasks)
	a.Freed, b.Freed = halves(s.Freed)
	a.Changed, b.Changed = halves(s.Changed)
	a.Answers, b.Answers = halves(s.Answers)
	a.Notices, b.Notices = halves(s.Notices)
	return a, b
}

func halves[T any](list []T) (a, b []T) { return list[:len(list)/2], list[len(list)/2:] }
