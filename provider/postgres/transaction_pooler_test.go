package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// transactionPooler is a pooler in transaction mode with server_round_robin: each transaction goes to the next of n
// server connections.
func transactionPooler(t *testing.T, server string, n int) (string, []net.Conn) {
	t.Helper()
	locks := make([]sync.Mutex, n)
	var servers []net.Conn
	for range n {
		c, err := pgconn.Connect(t.Context(), server)
		if err != nil {
			t.Fatal(err)
		}
		h, err := c.Hijack()
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, h.Conn)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var next, pids atomic.Int64
	serve := func(c net.Conn) {
		defer func() { _ = c.Close() }()
		read := func(from io.Reader, typed bool) (kind byte, whole []byte, err error) {
			head := make([]byte, 5)
			if !typed {
				head = head[:4]
			}
			if _, err = io.ReadFull(from, head); err != nil {
				return
			}
			size := binary.BigEndian.Uint32(head[len(head)-4:])
			body := make([]byte, size-4)
			_, err = io.ReadFull(from, body)
			return head[0], slices.Concat(head, body), err
		}
		for {
			_, m, err := read(c, false)
			if err != nil {
				return
			}
			if code := binary.BigEndian.Uint32(m[4:]); code == 80877103 {
				_, _ = c.Write([]byte{'N'})
				continue
			} else if code != 196608 && code>>16 != 3 {
				return
			}
			break
		}
		msg := func(kind byte, body []byte) []byte {
			return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...)
		}
		hello := msg('R', []byte{0, 0, 0, 0})
		for _, p := range [][2]string{{"server_version", "15.0"}, {"client_encoding", "UTF8"}, {"standard_conforming_strings", "on"}, {"integer_datetimes", "on"}} {
			hello = append(hello, msg('S', []byte(p[0]+"\x00"+p[1]+"\x00"))...)
		}
		hello = append(hello, msg('K', binary.BigEndian.AppendUint64(nil, uint64(1<<30+pids.Add(1))<<32))...)
		hello = append(hello, msg('Z', []byte{'I'})...)
		if _, err := c.Write(hello); err != nil {
			return
		}
		at := -1
		defer func() {
			if at >= 0 {
				locks[at].Unlock()
			}
		}()
		for {
			kind, m, err := read(c, true)
			if err != nil || kind == 'X' {
				return
			}
			if at < 0 {
				at = int(next.Add(1)) % n
				locks[at].Lock()
			}
			if _, err := servers[at].Write(m); err != nil {
				return
			}
			if kind != 'Q' && kind != 'S' {
				continue
			}
			for {
				k, m, err := read(servers[at], true)
				if err != nil {
					return
				}
				if _, err := c.Write(m); err != nil {
					return
				}
				if k == 'Z' {
					if m[5] == 'I' {
						locks[at].Unlock()
						at = -1
					}
					break
				}
			}
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	u, _ := url.Parse(server)
	u.Host = l.Addr().String()
	return u.String(), servers
}

// Behind a pooler that Options.Pooler does not name, with the exec mode that checkExecMode recommends instead.
func TestMigrationBehindAPoolerThatNobodyNamed(t *testing.T) {
	longtest.Skip(t)
	url, o := oldStore(t)
	pooled, _ := transactionPooler(t, url, 3)
	o.ListenURL = url
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	p, err := OpenWith(ctx, pooled+"&default_query_exec_mode=cache_describe&pool_max_conns=4", o)
	if err != nil {
		t.Errorf("not opened: %v (deadline: %v)", err, errors.Is(err, context.DeadlineExceeded))
	} else {
		_ = p.Close()
	}
	// Nobody migrates any more. A process connected to the server itself opens the store.
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	p, err = OpenWith(ctx, url, o)
	if err != nil {
		t.Errorf("straight at the server, after the other has given up: %v", err)
		return
	}
	closeAtEnd(t, p)
}

// The same for a new store.
func TestFirstOpenBehindAPoolerThatNobodyNamed(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	pooled, _ := transactionPooler(t, url, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	p, err := OpenWith(ctx, pooled+"&default_query_exec_mode=cache_describe&pool_max_conns=4", Options{Schema: postgrestest.Schema(t, url), ListenURL: url})
	if err != nil {
		t.Fatalf("not opened: %v (deadline: %v)", err, errors.Is(err, context.DeadlineExceeded))
	}
	_ = p.Close()
}
