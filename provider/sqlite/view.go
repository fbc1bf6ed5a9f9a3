package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	sqlite "modernc.org/sqlite"

	"github.com/perdure/perdure/provider"
)

// A View shows a store and has no way to change it: no write, no migration, no lease of a
// dead process that it would end. Other processes may use the store meanwhile.
type View struct{ p *Provider }

// OpenView opens the store in the file path to look at it. It does not create the file. The
// errors are those of [OpenWith] with NoMigrate set.
func OpenView(path string) (*View, error) {
	full, err := checkPath(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(full); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	ctx, cancel := context.WithTimeout(writerContext(), openTimeout)
	defer cancel()
	s := &store{path: full, clock: &clock{}, handles: 1}
	if err := s.openReaders(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Join(explain(err), s.close()))
	}
	return &View{&Provider{store: s, closing: make(chan struct{})}}, nil
}

// openReaders connects to a file that must hold a store, and that the connections cannot write.
func (s *store) openReaders(ctx context.Context) error {
	connector, err := sqlite.NewConnector(dsn(s.path, Options{}.withDefaults(), true) + "&mode=ro")
	if err != nil {
		return err //nolint:wrapcheck // OpenView names the file
	}
	if s.readers, err = newPool(ctx, connector); err != nil {
		return err
	}
	return s.readers.with(ctx, func(c *conn) error {
		if err := checkSchema(ctx, c); err != nil {
			return err
		}
		steps, err := migrations(ctx, c)
		if err != nil {
			return err
		}
		return checkApplied(steps)
	})
}

// Get answers what is stored, as [provider.Provider] does. It never waits.
func (v *View) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	req.Wait = 0
	return v.p.Get(ctx, req)
}

// List is as that of [provider.Provider].
func (v *View) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	return v.p.List(ctx, req)
}

// ReadHistory is as that of [provider.Provider].
func (v *View) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	return v.p.ReadHistory(ctx, req)
}

// Inspect implements [provider.Inspector].
func (v *View) Inspect(ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
	return v.p.Inspect(ctx, req)
}

// Close closes the file.
func (v *View) Close() error { return v.p.Close() }
