package postgres

import (
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// The synchronous standby is away for longer than a call lasts. The primary has stored such a call, and shows it, but
// nothing else has it. Its repeat finds it stored, and must not succeed before the standby has it, too: else a fail-over
// would lose what a caller was told.
func TestRepeatWaitsForTheStandby(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for name, pooler := range map[string]bool{"wire protocol": false, "pooler": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := postgrestest.New(t)
			standby := primary.Standby(t)
			o := Options{Timeout: time.Second, Pooler: pooler}
			opened(t, primary.URL(), Options{}) // makes the tables
			p := impatient(t, primary.URL(), o)
			in, steered := createSoon(t, p, "in"), createSoon(t, p, "steered")
			primary.WaitForStandbys(t)
			standby.Stop(t, syscall.SIGINT)
			created, committed := createRequest("created"), turn(&in, 1)
			created.RequestID = "once"
			committed.Events = [][]byte{[]byte("e")}
			suspend := provider.SteerRequest{Key: steered.Key, Commit: unique(), Action: provider.SteerSuspend}
			calls := map[string]func(*Provider) error{
				"create": func(p *Provider) error { _, err := p.Create(t.Context(), created); return err },
				"commit": func(p *Provider) error { _, err := p.CommitTurn(t.Context(), committed); return err },
				"steer":  func(p *Provider) error { _, err := p.Steer(t.Context(), suspend); return err },
			}
			for what, call := range calls {
				for range 3 { // the first one, and repeats
					if err := call(p); err == nil || !provider.Retryable(err) {
						t.Errorf("%s returns %v while no standby has it", what, err)
					}
				}
			}
			standby.Start(t)
			for what, call := range calls {
				eventually(t, what+" succeeds", func() bool { return call(p) == nil })
			}
			primary.Stop(t, syscall.SIGKILL)
			standby.Promote(t)
			for what, call := range calls { // these are repeats of what it has
				if err := call(opened(t, standby.URL(), Options{Pooler: pooler})); err != nil {
					t.Errorf("%s was told to be stored, and returns %v after a fail-over", what, err)
				}
			}
		})
	}
}

// A store that was opened on a standby refuses writes until the standby is promoted, as if nothing had happened.
func TestStandbyThatIsPromoted(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	primary := postgrestest.New(t)
	in := create(t, opened(t, primary.URL(), Options{}), "in")
	standby := primary.Standby(t)
	p := opened(t, standby.URL(), Options{})
	get(t, p, in.Key)
	req := createRequest("new")
	if _, err := p.Create(t.Context(), req); provider.OutcomeOf(err) != provider.OutcomeNothing || !provider.Retryable(err) {
		t.Errorf("a standby stores, or says %v", err)
	}
	standby.Promote(t)
	eventually(t, "the same store takes writes", func() bool {
		_, err := p.Create(t.Context(), req)
		return err == nil
	})
}
