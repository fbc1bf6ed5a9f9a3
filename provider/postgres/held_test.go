package postgres

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// Another transaction holds an instance for longer than a call lasts. Each call on the instance ends with an error.
func TestCallsOnAHeldInstanceEnd(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	p := impatient(t, postgrestest.URL(t), Options{Schema: store(t).db.opts.Schema, Timeout: time.Second})
	for what, call := range map[string]func(provider.Instance) error{
		"send": func(in provider.Instance) error {
			_, err := p.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: text("m")})
			return err
		},
		"commit": func(in provider.Instance) error {
			_, err := p.CommitTurn(t.Context(), turn(&in, 1))
			return err
		},
		"suspend": func(in provider.Instance) error {
			_, err := p.Steer(t.Context(), provider.SteerRequest{Key: in.Key, Commit: unique(), Action: provider.SteerSuspend})
			return err
		},
		"terminate": func(in provider.Instance) error {
			_, err := p.Steer(t.Context(), provider.SteerRequest{Key: in.Key, Commit: unique(), Action: provider.SteerTerminate})
			return err
		},
	} {
		in := createSoon(t, p, what)
		release := hold(t, p, in.Key)
		ended := make(chan error, 1)
		go func() { ended <- call(in) }()
		select {
		case err := <-ended:
			if !provider.Retryable(err) {
				t.Errorf("%s: %v", what, err)
			}
			release()
		case <-time.After(20 * time.Second):
			t.Errorf("%s does not end", what)
			release()
			t.Logf("%s returns %v late", what, <-ended)
		}
	}
}
