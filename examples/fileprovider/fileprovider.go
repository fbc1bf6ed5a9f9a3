package fileprovider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/kit"
	"github.com/perdure/perdure/provider/memory"
)

// Provider is a store in one file. It implements provider.Provider, provider.Inspector, provider.TaskSteerer and
// provider.Opener.
type Provider struct {
	file    *os.File
	state   *memory.Provider
	clock   *clock
	journal *journal

	mu      sync.Mutex     // held while a call is applied, so that the journal has the order of the calls
	calls   sync.WaitGroup // those in progress
	hub     *kit.Hub       // wakes blocked calls
	closed  chan struct{}
	closing sync.Once
}

var (
	_ provider.Provider    = (*Provider)(nil)
	_ provider.Inspector   = (*Provider)(nil)
	_ provider.Asker       = (*Provider)(nil)
	_ provider.Lister      = (*Provider)(nil)
	_ provider.Meter       = (*Provider)(nil)
	_ provider.Cleaner     = (*Provider)(nil)
	_ provider.Redriver    = (*Provider)(nil)
	_ provider.Keeper      = (*Provider)(nil)
	_ provider.Featured    = (*Provider)(nil)
	_ provider.TaskSteerer = (*Provider)(nil)
	_ provider.TaskLister  = (*Provider)(nil)
	_ provider.Opener      = (*Provider)(nil)
)

// Open opens the store in a file, or creates it. No other process may have it open.
func Open(ctx context.Context, path string) (*Provider, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller names the file
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	p := &Provider{file: file, clock: &clock{}, hub: kit.NewHub(kit.DefaultInterval), closed: make(chan struct{})}
	p.state = memory.New(memory.Options{Clock: p.clock})
	number, err := p.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Join(err, file.Close()))
	}
	p.clock.start()
	p.journal = newJournal(file, number)
	return p, nil
}

// load reads the file and cuts off a partial write of a dead process.
func (p *Provider) load(ctx context.Context) (number int64, err error) {
	if err := lock(p.file); err != nil {
		return 0, err
	}
	first := make([]byte, len(header))
	switch n, err := io.ReadFull(p.file, first); {
	case err == nil && string(first) == header:
	case (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && header[:n] == string(first[:n]):
		return 0, p.begin()
	case err == nil || errors.Is(err, io.ErrUnexpectedEOF):
		return 0, provider.ErrNotStore
	default:
		return 0, fmt.Errorf("read the journal: %w", err)
	}
	number, end, err := replay(ctx, p.file, p.state, p.clock)
	if err != nil {
		return 0, err
	}
	if err := p.file.Truncate(end); err != nil {
		return 0, fmt.Errorf("cut the journal: %w", err)
	}
	_, err = p.file.Seek(end, io.SeekStart)
	return number, errors.Join(err, p.file.Sync())
}

// begin creates an empty store. A new file survives a power loss only if its directory is synced, too.
func (p *Provider) begin() error {
	if _, err := p.file.WriteAt([]byte(header), 0); err != nil {
		return fmt.Errorf("begin the journal: %w", err)
	}
	if _, err := p.file.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("begin the journal: %w", err)
	}
	folder, err := os.Open(filepath.Dir(p.file.Name()))
	if err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	return errors.Join(p.file.Sync(), folder.Sync(), folder.Close())
}

// Close implements provider.Provider.
func (p *Provider) Close() error {
	var err error
	p.closing.Do(func() {
		p.mu.Lock()
		close(p.closed) // from here on no call enters
		p.mu.Unlock()
		p.hub.Close() // ends blocked calls
		err = p.state.Close()
		p.calls.Wait()
		err = errors.Join(err, p.journal.close(), p.file.Close())
	})
	return err
}

// enter registers a call, or returns an error if the store is closed.
func (p *Provider) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		return provider.ErrClosed
	default:
		p.calls.Add(1)
		return nil
	}
}

// Features implements provider.Featured.
func (p *Provider) Features() provider.Features {
	return provider.Features{FirstTurns: true, Ahead: true, Sticky: true, Retrying: true, FailureGroups: true}
}
