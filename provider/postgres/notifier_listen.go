package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/perdure/perdure/provider/internal/relational"
)

func startNotifier(db *database, kinds *kinds, hub *relational.Hub, waiters *waiters) *notifier {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(db.opts.Schema)) // never fails
	w := &notifier{
		db: db, kinds: kinds, hub: hub, waiters: waiters,
		node: fmt.Sprintf("%016x", rand.Uint64()), channel: fmt.Sprintf("perdure_%016x", hash.Sum64()),
		pending: relational.NewEffects(), ready: make(chan struct{}, 1),
	}
	w.ctx, w.cancel = context.WithCancel(db.hard)
	if db.opts.Pooler && db.opts.ListenURL == "" {
		db.opts.Logger.Warn("perdure postgres: no notifications through a pooler, commits of other processes are seen up to 5 s later; set ListenURL")
	} else {
		w.ended.Go(func() { w.keep("listen", w.listen) })
	}
	w.ended.Go(func() { w.keep("notify", w.send) })
	return w
}

func (w *notifier) stop() {
	w.cancel()
	w.ended.Wait()
}

// keep runs work on a connection of its own. If that is lost it runs work again on another one.
func (w *notifier) keep(what string, work func(*pgx.Conn) error) {
	for retry := firstRetry; w.ctx.Err() == nil; retry = min(2*retry, lastRetry) {
		began := time.Now()
		err := w.connected(work)
		if w.ctx.Err() != nil {
			return
		}
		w.db.opts.Logger.Warn("perdure postgres: the connection for notifications failed, retrying", "part", what, "error", err)
		if time.Since(began) > lastRetry {
			retry = firstRetry
		}
		timer := time.NewTimer(retry/2 + time.Duration(rand.Int64N(int64(retry))))
		select {
		case <-timer.C:
		case <-w.ctx.Done():
			timer.Stop()
		}
	}
}

func (w *notifier) connected(work func(*pgx.Conn) error) error {
	ctx, cancel := w.db.bounded(w.ctx)
	defer cancel()
	config, err := w.db.listenConfig(ctx)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	err = work(conn)
	closing, done := context.WithTimeout(context.WithoutCancel(w.ctx), time.Second)
	defer done()
	return errors.Join(err, conn.Close(closing))
}

// listen receives the commits of other processes.
func (w *notifier) listen(conn *pgx.Conn) error {
	if _, err := conn.Exec(w.ctx, "LISTEN "+pgx.Identifier{w.channel}.Sanitize()); err != nil {
		return err
	}
	defer interrupting(w.ctx, conn.PgConn().Conn())()
	w.listening.Store(true)
	defer func() {
		w.listening.Store(false)
		w.kinds.stale.Store(true)
		w.hub.ForgetAlive()
		if w.ctx.Err() == nil {
			w.wakeAll() // calls that sleep until they are notified poll now and then from here on
		}
	}()
	w.wakeAll()
	own := `{"n":"` + w.node + `"` // the prefix of what this process sent
	for {
		n, err := w.receive(conn)
		if err != nil {
			return err
		}
		if strings.HasPrefix(n.Payload, own) {
			continue
		}
		w.peers.observe(n.Payload, time.Now())
		var in signal
		switch err := json.Unmarshal([]byte(n.Payload), &in); { //nolint:musttag // a Notice goes by its own names
		case err != nil || in.Lost: // from a newer release, or incomplete
			w.wakeAll()
		default:
			w.deliver(&in, nil)
			for _, key := range in.Changed {
				w.hub.WakeFollowersOf(key)
			}
		}
	}
}

// receive waits for a notification. It tests a connection that was silent for long, because the other end may be gone
// without a word.
func (w *notifier) receive(conn *pgx.Conn) (*pgconn.Notification, error) {
	watched := context.WithoutCancel(w.ctx) // by listen
	for socket := conn.PgConn().Conn(); ; {
		if err := socket.SetReadDeadline(time.Now().Add(keepaliveAfter)); err != nil {
			return nil, err
		}
		if err := w.ctx.Err(); err != nil { // otherwise it ends the waiting from now on
			return nil, err
		}
		n, err := conn.WaitForNotification(watched)
		if err == nil || w.ctx.Err() != nil || !pgconn.Timeout(err) {
			return n, err
		}
		if err := w.test(conn, socket); err != nil {
			return nil, err
		}
	}
}

// test checks whether the other end is there.
func (w *notifier) test(conn *pgx.Conn, socket net.Conn) error {
	if err := socket.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	ctx, cancel := w.db.bounded(w.ctx)
	defer cancel()
	return conn.Ping(ctx)
}

// send tells other processes, outside of all commits. A NOTIFY inside of commits would make them wait for each other.
func (w *notifier) send(conn *pgx.Conn) error {
	window := time.NewTimer(0)
	defer window.Stop()
	for {
		select {
		case <-w.ready:
		case <-w.ctx.Done():
			return w.sendPending(conn)
		}
		select {
		case <-window.C: // long since the last one
		case <-w.ctx.Done():
			return w.sendPending(conn)
		}
		if err := w.sendPending(conn); err != nil {
			return err
		}
		window.Reset(cmp.Or(w.db.opts.gather, w.peers.window(time.Now())))
	}
}

// sendPending sends what there is, even while the provider closes. Others would look for it only at their next poll.
func (w *notifier) sendPending(conn *pgx.Conn) error {
	fx, out := w.take()
	if out.empty() {
		return nil
	}
	err := w.notify(w.db.calling.Context(), conn, out)
	if err != nil {
		w.restore(&fx, out.Lost)
	}
	return err
}

// restore keeps what could not be sent for the next connection.
func (w *notifier) restore(fx *relational.Effects, lost bool) {
	w.mu.Lock()
	w.lost = w.lost || lost
	w.mu.Unlock()
	w.keepFor(fx)
}

// notify sends a signal, in several parts if it is too long for one.
func (w *notifier) notify(ctx context.Context, conn *pgx.Conn, out *signal) error {
	payload, err := json.Marshal(out) //nolint:musttag // a Notice goes by its own names
	if err != nil {
		return err
	}
	if len(payload) > maxPayload {
		a, b := out.split()
		return errors.Join(w.notify(ctx, conn, a), w.notify(ctx, conn, b))
	}
	return w.db.exec(ctx, conn, boundStatement{"SELECT pg_notify($1, $2)", []any{w.channel, string(payload)}})
}

// peers counts the other processes that send notifications. Each one sends to all, so at a fixed rate the server would
// deliver as many as the square of their number. Commits that notify also wait for each other. So each process gathers
// longer, the more processes send.
type peers struct {
	mu   sync.Mutex
	last map[string]time.Time // when each sent last
}

const (
	// coalesce is how long notifications are gathered while others have just been sent, if no other process
	// sends any.
	coalesce = 2 * time.Millisecond
	// maxCoalesce bounds the delay of a wake-up when many processes are busy.
	maxCoalesce = 20 * time.Millisecond
	// recently is how long a process counts as busy after it has sent a notification.
	recently = time.Second
	// maxPeers bounds how many processes are counted, because anybody may send a notification.
	maxPeers = 64
	// nodeLength is the length of the prefix of a payload that names its process.
	nodeLength = len(`{"n":"0123456789abcdef"`)
)

// observe records the sender of a notification.
func (p *peers) observe(payload string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = make(map[string]time.Time)
	}
	node := payload[:min(nodeLength, len(payload))]
	if _, known := p.last[node]; known || len(p.last) < maxPeers {
		p.last[node] = now
	}
}

// window returns how long to gather notifications before the next one is sent.
func (p *peers) window(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.last, func(_ string, at time.Time) bool { return now.Sub(at) > recently })
	return min(max(coalesce, coalesce/2*time.Duration(len(p.last)+1)), maxCoalesce)
}
