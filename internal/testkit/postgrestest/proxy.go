package postgrestest

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a proxy before a cluster, until the test ends.
type Proxy struct {
	url     string
	server  string
	delay   time.Duration
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]bool
}

// Proxy runs a proxy before the cluster. Bytes from the server arrive later by the delay, in order, as from a server that
// is far away.
func (c *Cluster) Proxy(t testing.TB, delay time.Duration) *Proxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		url:    fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", l.Addr()),
		server: fmt.Sprintf("127.0.0.1:%d", c.port), delay: delay, open: make(map[net.Conn]bool),
	}
	p.running.Go(func() { p.serve(l) })
	t.Cleanup(func() {
		_ = l.Close() // it ends serve
		p.close()
		p.running.Wait()
	})
	return p
}

// URL returns the connection string of the database "postgres" behind the proxy.
func (p *Proxy) URL() string { return p.url }

// Cut ends all connections. What is on its way in either direction is lost. Later connections are served.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close() // forward ends
	}
}

// serve forwards the connections of l until it is closed.
func (p *Proxy) serve(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.forward(client) })
	}
}

// forward connects a client with the server until one of them hangs up.
func (p *Proxy) forward(client net.Conn) {
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.server)
	if err != nil {
		_ = client.Close() // the client sees that there is no server
		return
	}
	if !p.hold(client, server) {
		return
	}
	p.running.Go(func() {
		_, _ = io.Copy(server, client) // whichever side ends first, both are closed
		p.release(client, server)
	})
	p.late(client, server)
	p.release(client, server)
}

// late copies from the server to the client. Each piece waits for the delay after its arrival.
func (p *Proxy) late(client io.Writer, server io.Reader) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 1024)
	p.running.Go(func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 32<<10)
			n, err := server.Read(buffer)
			if n > 0 {
				pieces <- piece{time.Now().Add(p.delay), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	})
	broken := false
	for next := range pieces { // to the end, so that the reader never blocks
		if broken {
			continue
		}
		<-time.After(time.Until(next.due))
		_, err := client.Write(next.data)
		broken = err != nil
	}
}

// hold remembers connections for close. It reports whether the proxy still runs; otherwise they are closed.
func (p *Proxy) hold(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.closed {
			_ = c.Close() // nobody uses it
			continue
		}
		p.open[c] = true
	}
	return !p.closed
}

func (p *Proxy) release(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close() // the other side may have closed it
		delete(p.open, c)
	}
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Cut()
}
