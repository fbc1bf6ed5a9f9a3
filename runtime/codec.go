package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/sealing"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// ErrCodec is Health.Codec: the codec does not answer, the node has no key for what is stored, or what is stored is damaged. Orders that it
// concerns wait.
var ErrCodec = sealing.ErrCodec

// checkCodec refuses a codec that no store could keep up with.
func (o Options) checkCodec() error {
	if check.IsNil(o.Codec) {
		return nil
	}
	if err := sealing.Check(o.Codec); err != nil {
		return fmt.Errorf("%w: option Codec: %w", ErrInvalid, err)
	}
	return nil
}

// sealingOf is what a node has for its codec.
type sealingOf struct {
	level  atomic.Pointer[upgrade.Level] // nil: the node has not read it yet, and stores nothing before that
	faults sealing.Faults
	seals  bool
}

// decorate returns the store with the codec before it.
func (s *sealingOf) decorate(store provider.Provider, o *Options) provider.Provider {
	if check.IsNil(o.Codec) {
		return store
	}
	s.seals = codec.Seals(o.Codec)
	sealed := sealing.New(store, o.Codec, &s.faults, sealing.AllowedBy(s.level.Load, sealing.Refusal{Of: notYet, Waits: true}))
	if err := sealed.NoGroups(); err != nil {
		o.Logger.Warn("failures are stored without groups", "error", err)
	}
	return sealed
}

// configure lets the node tell of faults. With a codec, its log has no texts of user code.
func (s *sealingOf) configure(cfg *dispatcher.Config, o *Options) {
	cfg.Faults = &s.faults
	if !check.IsNil(o.Codec) {
		cfg.Logger = sealing.Quiet(o.Logger)
		cfg.Env.OwnLogger = cfg.Logger // code keeps its own
	}
}

// check refuses to seal on a store that does not allow it. If the level is not known, because the store does not answer, the node waits for it.
func (s *sealingOf) check(ctx context.Context, level *upgrade.Level) error {
	s.level.Store(level)
	if !s.seals || level.Allowed() >= replay.LevelOfLanguage {
		return nil
	}
	allowed, err := level.Again(ctx)
	if err == nil && allowed < replay.LevelOfLanguage {
		return notYet(allowed)
	}
	return nil // after an error the node waits for the store, and seals nothing before that
}

var errUpgrade = errors.New("deploy with codec.OpenOnly first; when all nodes and clients have that, run perdure upgrade --finish, " +
	"then deploy the codec itself")

func notYet(level int64) error {
	return fmt.Errorf("%w: encrypted payloads need engine level %d, and the store allows %d: %w", client.ErrNotFinished, replay.LevelOfLanguage, level, errUpgrade)
}
