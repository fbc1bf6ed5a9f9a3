package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// pulse is how often a process shows that it lives, while it or others hold leases.
	pulse = 2500 * time.Millisecond
	// silence is after how long without that it is dead.
	silence = 10 * time.Second
)

const (
	sqlRenewProcess = `INSERT INTO perdure.process (id, owners, renewed_at) VALUES ($1, $2, ` + sqlNow + `)
	ON CONFLICT (id) DO UPDATE SET owners = excluded.owners, renewed_at = excluded.renewed_at`
	sqlLeaveProcess = `DELETE FROM perdure.process WHERE id = $1`
	// Whether others serve owners, and who was silent for longest.
	sqlOtherProcesses = `SELECT ` + sqlNow + `, coalesce(bool_or(n.owners <> '{}'), false), coalesce(min(n.renewed_at), 9223372036854775807)
	FROM perdure.process n WHERE n.id <> $1`
)

// A presence shows the other processes that this one lives, while it holds leases, and ends the leases of those that are
// dead. While only others hold leases it renews its row all the same: who cannot write must not judge.
type presence struct {
	p       *Provider
	process string
	ctx     context.Context //nolint:containedctx // it ends with the provider
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	poke    chan struct{}

	mu     sync.Mutex
	owners map[string]struct{} // that this process serves
	shown  map[string]struct{} // those that its row names
	wrote  time.Time           // when that was stored last
	until  time.Time           // when the last of their leases has run out

	writing chan struct{} // a place for whoever writes the row; it guards what follows
	// Of the goroutine that attends, but for stored.
	stored      bool          // there may be a row of this process
	others      bool          // others serve owners
	first, last provider.Time // of the renewals that came one after the other without a gap; 0: none
}

func startPresence(p *Provider) *presence {
	s := &presence{
		p: p, process: p.signals.node, poke: make(chan struct{}, 1), owners: make(map[string]struct{}),
		shown: make(map[string]struct{}), writing: make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancel(p.hard)
	s.ended.Go(s.loop)
	return s
}

// stop ends the renewals.
func (s *presence) stop() {
	s.cancel()
	s.ended.Wait()
}

// leave ends what is left of the leases of this process, which closes the store.
func (s *presence) leave() {
	owners := s.serves()
	if !s.stored && len(owners) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), time.Second)
	defer cancel()
	if err := s.buryOwn(ctx, owners); err != nil {
		s.p.opts.Logger.Warn("perdure postgres: other processes will find out only later that this one has closed the store", "error", err)
	}
}

// serve notes that an owner of this process holds leases for as long as d; "" stands for all that it serves.
func (s *presence) serve(owner string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if until := time.Now().Add(d); until.After(s.until) {
		s.until = until
	}
	if _, known := s.owners[owner]; known || owner == "" {
		return
	}
	s.owners[owner] = struct{}{}
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// shows reports whether the row of this process names an owner, and goes on to do so for longer than a call takes. Others may have removed a
// row that was not renewed in time.
func (s *presence) shows(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.shown[owner]
	return ok && !time.Now().After(s.until) && time.Since(s.wrote) < silence
}

// show has the row of this process name an owner, which is about to get leases for as long as d. Else nobody would end them if the
// process died now. Without the right to write the row its leases hold until they run out.
func (s *presence) show(ctx context.Context, owner string, d time.Duration) error {
	if s.shows(owner) {
		return nil
	}
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.written()
	if s.shows(owner) {
		return nil
	}
	s.serve(owner, d)
	ctx, cancel := context.WithTimeout(ctx, 2*pulse)
	defer cancel()
	owners := s.serves()
	s.stored = true
	at := time.Now()
	_, err := s.p.spare.Exec(ctx, s.p.names.sql(sqlRenewProcess), s.process, owners)
	if err != nil && !permanent(err) {
		return fmt.Errorf("showing other processes that this one lives: %w", err)
	}
	s.names(owners, at)
	return nil
}

// write takes the right to write the row, which written gives back.
func (s *presence) write(ctx context.Context) error {
	select {
	case s.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *presence) written() { <-s.writing }

// names notes whom the row names since a moment.
func (s *presence) names(owners []string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote = at
	for _, owner := range owners {
		s.shown[owner] = struct{}{}
	}
}

// serves lists the owners that may hold leases. A call that relies on the row may be under way when the last lease is over.
func (s *presence) serves() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().After(s.until.Add(2 * s.p.opts.Timeout)) {
		clear(s.owners)
		clear(s.shown)
	}
	return slices.AppendSeq([]string{}, maps.Keys(s.owners))
}

func (s *presence) loop() {
	defer s.leave()
	for s.ctx.Err() == nil {
		wait, err := s.attend()
		if err != nil && s.ctx.Err() == nil {
			s.p.opts.Logger.Warn("perdure postgres: this process cannot show that it lives", "error", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.poke:
		case <-s.ctx.Done():
		}
		timer.Stop()
	}
}

// attend renews the row of this process if it is needed, looks at those of the others, and answers when to do so again.
func (s *presence) attend() (time.Duration, error) {
	if err := s.write(s.ctx); err != nil {
		return pulse, err
	}
	defer s.written()
	owners, at := s.serves(), time.Now()
	renews := len(owners) > 0 || s.others
	if !renews && !s.stored && !s.p.signals.awaited() { // who takes nothing takes nothing over
		return pulse, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, 2*pulse)
	defer cancel()
	b := &pgx.Batch{}
	if renews {
		b.Queue(s.p.names.sql(sqlRenewProcess), s.process, owners)
		s.stored = true
	} else if s.stored {
		b.Queue(s.p.names.sql(sqlLeaveProcess), s.process)
	}
	var now, oldest, newest provider.Time
	s.p.setback.queueNewest(b, &newest)
	b.Queue(s.p.names.sql(sqlOtherProcesses), s.process).QueryRow(func(r pgx.Row) error { return r.Scan(&now, &s.others, &oldest) })
	asked := time.Now()
	err := s.p.spare.SendBatch(ctx, b).Close()
	s.renewed(now, renews && err == nil)
	if err != nil {
		return pulse, err
	}
	s.p.setback.reading(now, newest, asked, time.Now())
	s.stored = renews
	s.names(owners, at)
	if s.others && !renews {
		return 0, nil // who does not renew its row judges nobody
	}
	if limit := s.limit(); oldest <= limit {
		return pulse, s.burySilent(ctx, limit)
	}
	if due := oldest.Add(silence).Sub(now); oldest != relational.Never && due > 0 {
		return min(due+time.Millisecond, pulse), nil
	}
	return pulse, nil
}

// renewed notes a renewal. One that comes late begins a new series, as does one after a failure.
func (s *presence) renewed(now provider.Time, ok bool) {
	switch {
	case !ok:
		s.first, s.last = 0, 0
	case s.first == 0 || now < s.last || now.Sub(s.last) > 2*pulse:
		s.first, s.last = now, now
	default:
		s.last = now
	}
}

// limit answers the moment before which whoever did not renew its row since is dead. After an outage of the database all
// rows are old: who has not renewed its own for as long without a gap judges nobody.
func (s *presence) limit() provider.Time {
	if s.first == 0 || s.last.Sub(s.first) < silence {
		return 0
	}
	return s.last.Add(-silence)
}

// Create implements [provider.Provider].
func (p *Provider) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	if req.First == nil {
		return p.calls.Create(ctx, req)
	}
	if err := p.presence.handsOff(ctx, req.First.Tasks); err != nil {
		return provider.CreateResult{}, failed("create", err, provider.OutcomeNothing)
	}
	res, err := p.calls.Create(ctx, req)
	p.presence.handedOff(req.First.Tasks, err)
	return res, err
}

// CommitTurn implements [provider.Provider].
func (p *Provider) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	if err := p.presence.handsOff(ctx, req.Tasks); err != nil {
		return provider.CommitTurnResult{}, failed("commit turn", err, provider.OutcomeNothing)
	}
	res, err := p.calls.CommitTurn(ctx, req)
	p.presence.handedOff(req.Tasks, err)
	return res, err
}

// handsOff shows the owners to which a call is about to lease tasks.
func (s *presence) handsOff(ctx context.Context, tasks []provider.NewTask) error {
	for i := range tasks {
		if lease := tasks[i].Lease; lease != nil {
			if err := s.show(ctx, lease.Owner, lease.Duration); err != nil {
				return err
			}
		}
	}
	return nil
}

// handedOff notes the leases of tasks that a call has stored, or may have.
func (s *presence) handedOff(tasks []provider.NewTask, err error) {
	if err != nil && provider.OutcomeOf(err) == provider.OutcomeNothing {
		return
	}
	for i := range tasks {
		if lease := tasks[i].Lease; lease != nil {
			s.serve(lease.Owner, lease.Duration)
		}
	}
}

// RenewTasks implements [provider.Provider].
func (p *Provider) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	res, err := p.calls.RenewTasks(ctx, req)
	if err == nil || provider.OutcomeOf(err) != provider.OutcomeNothing {
		p.presence.serve(req.Owner, max(req.Lease, req.SessionLease))
	}
	return res, err
}
