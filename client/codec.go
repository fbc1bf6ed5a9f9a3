package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/codec"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/sealing"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// ErrEncrypted means that what a call would return is encrypted, and the client has no codec for it. The error names the key.
var ErrEncrypted = history.ErrSealed

var errTwoCodecs = errors.New("client option Codec: the store has the codec of the runtime already: leave it out")

// checkCodec refuses a codec that no store could keep up with, or a second one.
func (o *Options) checkCodec(store provider.Provider) error {
	if check.IsNil(o.Codec) {
		return nil
	}
	if sealing.Of(store) != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, errTwoCodecs)
	}
	if err := sealing.Check(o.Codec); err != nil {
		return fmt.Errorf("%w: client option Codec: %w", ErrInvalid, err)
	}
	return nil
}

// sealing returns the store with the codec before it.
func (c *Client) sealing(store provider.Provider, o *Options) provider.Provider {
	if sealing.Of(store) != nil {
		return store
	}
	with := o.Codec
	if node := bind.StarterOf(&o.Node.handle); check.IsNil(with) && node != nil {
		with = node.Codec()
	}
	if check.IsNil(with) {
		return store
	}
	c.faults = new(sealing.Faults)
	return sealing.New(store, with, c.faults, sealing.AllowedBy(func() *upgrade.Level { return c.level }, sealing.Refusal{Of: func(level int64) error {
		return fmt.Errorf("%w: encrypted payloads need engine level %d, and the store allows %d: "+
			"run perdure upgrade --finish when all nodes are new and have a codec", ErrNotFinished, replay.LevelOfLanguage, level)
	}}))
}

// Decrypt returns a copy of the history whose values are decrypted with a codec, for tests that replay it. What is plain stays as it is.
//
// Errors: ErrEncrypted if a value is damaged or the codec has no key for it, or an error of the codec.
func (f *HistoryFile) Decrypt(ctx context.Context, c codec.Codec) (HistoryFile, error) {
	out := *f
	var err error
	if out.Events, err = sealing.OpenEvents(ctx, c, f.Events); err != nil {
		return HistoryFile{}, fmt.Errorf("decrypting the history of instance %q: %w", f.InstanceID, err)
	}
	return out, nil
}
