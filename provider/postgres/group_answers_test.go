package postgres

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// watched is a connection that calls a function before it sends what has fatal in it. An error of the function breaks the connection.
type watched struct {
	net.Conn

	before func() error
}

func (c watched) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(fatal)) {
		if err := c.before(); err != nil {
			_ = c.Close() // the server rolls back
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// Two members create one ID, and the group is not stored, or nobody knows whether it is. Then nobody hears that the ID exists unless it does,
// and nobody hears anything before the group ends.
func TestHazard95_NobodyHearsOfWhatIsNotStored(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"never", "before the group is sent", "before the answer"} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			before := func() error { return nil }
			url := postgrestest.URL(t)
			made := pool(t, url, func(c *pgxpool.Config) {
				c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
					if cut == "before the answer" {
						conn = &answerless{Conn: conn}
					}
					return watched{conn, func() error {
						mu.Lock()
						defer mu.Unlock()
						return before()
					}}, err
				}
			})
			p, err := NewWith(t.Context(), made, Options{Schema: postgrestest.Schema(t, url), Logger: silent})
			if err != nil {
				t.Fatal(err)
			}
			closeAtEnd(t, p)
			other := create(t, p, "other")
			first, second := createRequest("same"), createRequest("same")
			first.Message = text(fatal)
			members := []*relational.Member{memberCreate(first), memberCreate(second), memberSend(other.Key, text("m"))}
			early := false
			mu.Lock()
			before = func() error {
				for _, m := range members {
					select {
					case <-m.Done:
						early = true
					default:
					}
				}
				if cut == "before the group is sent" {
					return syscall.ECONNRESET
				}
				return nil
			}
			mu.Unlock()
			errs := grouped(p, members...)
			if early {
				t.Error("a member was answered before its group was stored")
			}
			res, err := p.Get(t.Context(), provider.GetRequest{ID: "same"})
			if err != nil {
				t.Fatal(err)
			}
			if exists := errors.Is(errs[1], provider.ErrExists); exists != (res.Instance.Key == first.Key) || !exists && errs[1] != nil {
				t.Errorf("the second create returns %v, and the ID has key %s: the first is %s", errs[1], res.Instance.Key, first.Key)
			}
			if lost := cut != "never"; lost != (errs[0] != nil) || cut == "before the answer" && provider.OutcomeOf(errs[0]) != provider.OutcomeUnknown {
				t.Errorf("the first create returns %v", errs[0])
			}
			if cut == "before the group is sent" && res.Instance.Key == first.Key {
				t.Error("the group was stored although nothing was sent")
			}
			checkConsistent(t, p)
		})
	}
}
