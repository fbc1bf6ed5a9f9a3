package orchestrationtest

import (
	"context"
	"errors"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/sealing"
	"github.com/perdure/perdure/provider"
)

// errCodecDown means that the codec of the nodes does not answer now. Nothing can be checked then, and the nodes wait for it, too.
var errCodecDown = errors.New("the codec does not answer")

// stored reads what the nodes have stored, with their codec. The client of the test may have another one, or none.
type stored struct {
	client *client.Client
	codec  codec.Codec // nil: the nodes have none
}

// newStored returns what reads for the checks: with the client of the test, or with one that has the codec of the nodes.
func newStored(s *store, own *client.Client, opts client.Options, c codec.Codec) (*stored, error) {
	if check.IsNil(c) {
		return &stored{client: own}, nil
	}
	reads, err := client.New(s, client.Options{Logger: opts.Logger, Errors: opts.Errors, Codec: codec.OpenOnly(c)})
	return &stored{client: reads, codec: c}, err
}

// history returns the history of an execution, as code sees it; 0: of the current one.
func (s *stored) history(ctx context.Context, key provider.UUID, execution int64) (client.HistoryFile, error) {
	f, err := client.HandleOf[any](s.client, "", key).ExportHistory(ctx, execution)
	if err != nil || s.codec == nil {
		return f, err
	}
	f, err = f.Decrypt(ctx, s.codec)
	return f, down(err)
}

// open returns what a question or an answer holds, as code sees it.
func (s *stored) open(ctx context.Context, p codec.Purpose, data []byte) ([]byte, error) {
	if s.codec == nil {
		return data, nil
	}
	data, err := sealing.OpenWhole(ctx, s.codec, p, data)
	return data, down(err)
}

// down tells an outage of the codec from what it cannot read.
func down(err error) error {
	if err != nil && !errors.Is(err, client.ErrEncrypted) {
		return errors.Join(errCodecDown, err)
	}
	return err
}
