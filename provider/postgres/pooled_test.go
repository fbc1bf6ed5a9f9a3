package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// relay forwards connections to a server and gives clients process IDs of its own, as poolers do. It returns its URL.
func relay(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := u.Host
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(withoutCancel(t))
	t.Cleanup(func() {
		cancel()
		_ = listener.Close() // which ends the loop
		running.Wait()
	})
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { forward(ctx, client, host) })
		}
	})
	u.Host = listener.Addr().String()
	return u.String()
}

// forward serves one connection until either end closes it.
func forward(ctx context.Context, client net.Conn, address string) {
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		_ = client.Close()
		return
	}
	end := func() {
		_ = client.Close()
		_ = server.Close()
	}
	defer context.AfterFunc(ctx, end)()
	var up sync.WaitGroup
	up.Go(func() {
		defer end()
		_, _ = io.Copy(server, client)
	})
	defer up.Wait()
	defer end()
	for header := make([]byte, 5); ; {
		if _, err := io.ReadFull(server, header); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(header[1:])-4)
		if _, err := io.ReadFull(server, body); err != nil {
			return
		}
		if header[0] == 'K' {
			binary.BigEndian.PutUint32(body, 1<<30|binary.BigEndian.Uint32(body))
		}
		if _, err := client.Write(append(header[:5:5], body...)); err != nil {
			return
		}
		if header[0] == 'Z' { // the rest is forwarded unchanged
			_, _ = io.Copy(client, server)
			return
		}
	}
}

// The connections of a pooler belong to other programs, too. They keep none of our settings, even if the pooler is not
// declared.
func TestPoolerThatNobodyToldOfKeepsNoSettings(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	server := postgrestest.URL(t)
	var log bytes.Buffer
	o := Options{Schema: postgrestest.Schema(t, server), ListenURL: server, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	p := opened(t, relay(t, server), o)
	if text := log.String(); !strings.Contains(text, "Options.Pooler") {
		t.Errorf("the log does not name the option: %s", text)
	}
	everyCall(t, p)
	settings := `SELECT current_setting('enable_seqscan') || current_setting('jit') || current_setting('plan_cache_mode')`
	var want string
	if err := p.db.reserve.QueryRow(t.Context(), settings).Scan(&want); err != nil {
		t.Fatal(err)
	}
	for _, conn := range p.db.pool.AcquireAllIdle(t.Context()) {
		var got string
		if err := conn.QueryRow(t.Context(), settings).Scan(&got); err != nil || got != want {
			t.Errorf("a connection has the settings %s, want %s: %v", got, want, err)
		}
		conn.Release()
	}
	checkConsistent(t, p)
}

// Behind PgBouncer calls fail without Options.Pooler. Their errors name it.
func TestPgBouncerThatNobodyToldOf(t *testing.T) {
	longtest.Skip(t)
	cluster := postgrestest.New(t)
	url := cluster.Pooler(t)
	p, err := OpenWith(t.Context(), url+"&pool_max_conns=8", Options{ListenURL: cluster.URL(), Logger: silent})
	if err == nil {
		closeAtEnd(t, p)
		var calls sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			calls.Go(func() {
				for range 50 {
					if _, err := p.Create(t.Context(), createRequest(unique().String())); err != nil {
						errs[i] = err
						return
					}
				}
			})
		}
		calls.Wait()
		err = errors.Join(errs...)
	}
	if err != nil && !strings.Contains(err.Error(), "Options.Pooler") {
		t.Errorf("the error does not name the option: %v", err)
	}
	direct, err := pgx.Connect(t.Context(), url+"&default_query_exec_mode=simple_protocol")
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		var setting string
		if err := direct.QueryRow(t.Context(), `SELECT current_setting('enable_seqscan')`).Scan(&setting); err != nil || setting != "on" {
			t.Errorf("another program's connection has enable_seqscan %s: %v", setting, err)
		}
	}
	if err := direct.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestErrorsOfPoolersNameTheOption(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, state := range []string{"26000", "42P05"} {
		err := failed("create", &pgconn.PgError{Code: state}, provider.OutcomeNothing)
		if !strings.Contains(err.Error(), "Options.Pooler") {
			t.Errorf("%s: %v", state, err)
		}
	}
}

type noTracer struct{}

func (noTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (noTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A tracer costs time. The log says so.
func TestTracerIsLogged(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	url := postgrestest.URL(t)
	var log bytes.Buffer
	traced := pool(t, url, func(c *pgxpool.Config) { c.MaxConns, c.ConnConfig.Tracer = 8, noTracer{} })
	p, err := NewWith(t.Context(), traced, Options{Schema: postgrestest.Schema(t, url), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	if !strings.Contains(log.String(), "tracer") {
		t.Errorf("the log says nothing: %s", &log)
	}
}
