package sealed

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// failing is a codec that is down for a minute from its nth call on.
type failing struct {
	codec.Codec

	at int // 0: never

	mu    sync.Mutex
	calls int
	until time.Time
}

var errDown = errors.New("the key service is down")

func (f *failing) call() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls++; f.calls == f.at {
		f.until = time.Now().Add(time.Minute)
	}
	if time.Now().Before(f.until) {
		return errDown
	}
	return nil
}

func (f *failing) Seal(ctx context.Context, items []codec.Plain) ([]codec.Sealed, error) {
	if err := f.call(); err != nil {
		return nil, err
	}
	return f.Codec.Seal(ctx, items)
}

func (f *failing) Open(ctx context.Context, items []codec.Sealed) ([]codec.Plain, error) {
	if err := f.call(); err != nil {
		return nil, err
	}
	return f.Codec.Open(ctx, items)
}

// A codec that is down for a minute, whatever needs it first, delays and loses nothing: the outcome has each attempt and each value of a
// run without an outage.
func TestHazard72_AMinuteWithoutTheCodec(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, at int) (out string, calls int) {
		f := &failing{Codec: aes(t, "k1"), at: at}
		opts := runtime.Options{Codec: f, Cache: runtime.CacheOptions{Executions: runtime.Off}}
		enginetest.Bubble(t, opts, func(e *enginetest.Engine) {
			rt := e.Start(registry(e.T))
			c, err := rt.Client(client.Options{Logger: slog.New(slog.DiscardHandler), CallTimeout: 10 * time.Minute})
			if err == nil {
				out, err = play(e.T, c, "order")
			}
			if err != nil {
				e.T.Errorf("down from call %d on: %v", at, err)
				return
			}
			h, err := rt.Health(e.T.Context())
			if err != nil || h.Codec != nil || h.Blocked > 0 || h.DeadLetters > 0 {
				e.T.Errorf("down from call %d on: health %+v, %v", at, h, err)
			}
		})
		return out, f.calls
	}
	want, calls := run(t, 0)
	if !strings.Contains(want, canary) || calls < 20 {
		t.Fatalf("%q after %d calls", want, calls)
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for at := 1; at <= calls && !t.Failed(); at += step {
		if got, _ := run(t, at); got != want {
			t.Errorf("down from call %d on: %q, want %q", at, got, want)
		}
	}
}

// A node without the codec leaves orders alone and says why. A node with it ends them.
func TestHazard116_NodeWithoutTheCodec(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		ctx := e.T.Context()
		c, err := client.New(e.Store, client.Options{Codec: aes(e.T, "k1"), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			e.T.Fatal(err)
		}
		rt := e.StartOn(e.Store, registry(e.T), runtime.Options{}) // it opens the level of the store
		h, err := client.StartNamed[string](ctx, c, "simple", secret("input"), client.WithID("order"))
		if err != nil {
			e.T.Fatal(err)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // virtual
		d, err := h.Describe(ctx)
		if err != nil || d.Status != client.StatusRunning || d.Blocked != nil || d.Deliveries > 1 {
			e.T.Errorf("after an hour: %+v, %v", d, err)
		}
		health, err := rt.Health(ctx)
		if err != nil || !errors.Is(health.Codec, runtime.ErrCodec) || !strings.Contains(health.Codec.Error(), "no codec for key k1") {
			e.T.Errorf("%+v, %v", health, err)
		}
		e.StartOn(e.Store, registry(e.T), runtime.Options{Codec: aes(e.T, "k1")})
		if got, err := h.Wait(ctx); err != nil || !strings.HasPrefix(got, secret("input")) {
			e.T.Errorf("%q, %v", got, err)
		}
		blind, err := client.New(e.Store, client.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			e.T.Fatal(err)
		}
		for event, err := range blind.History(ctx, "order", 0) {
			if err != nil || event.Kind == "ExecutionStarted" && (event.EncryptedWith != "k1" || event.Input != nil || event.Name != "simple") {
				e.T.Errorf("%+v, %v", event, err)
			}
		}
	})
}

// A node whose key has the right ID and other bytes says so, in its log and in health, and so does a client.
func TestAnotherKeyOfTheID(t *testing.T) {
	t.Parallel()
	other, err := codec.AES(codec.Key{ID: "k1", Bytes: bytes.Repeat([]byte{99}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	const want = "here is another one than that which has encrypted"
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		ctx := e.T.Context()
		c, err := client.New(e.Store, client.Options{Codec: aes(e.T, "k1"), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			e.T.Fatal(err)
		}
		var lines bytes.Buffer
		rt := e.StartOn(e.Store, registry(e.T), runtime.Options{Codec: other, Logger: slog.New(slog.NewJSONHandler(&lines, nil))})
		h, err := client.StartNamed[string](ctx, c, "simple", secret("input"), client.WithID("order"))
		if err != nil {
			e.T.Fatal(err)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // virtual
		health, err := rt.Health(ctx)
		if err != nil || !errors.Is(health.Codec, runtime.ErrCodec) || !strings.Contains(health.Codec.Error(), want) {
			e.T.Errorf("%+v, %v", health, err)
		}
		e.Stop(rt)
		if text := lines.String(); !strings.Contains(text, "turn given back") || !strings.Contains(text, want) {
			e.T.Errorf("the log has no %s: %s", want, text)
		}
		e.StartOn(e.Store, registry(e.T), runtime.Options{Codec: aes(e.T, "k1")})
		if _, err := h.Wait(ctx); err != nil {
			e.T.Error(err)
		}
		wrong, err := client.New(e.Store, client.Options{Codec: other, Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			_, err = client.HandleOf[string](wrong, h.ID(), h.Key()).Wait(ctx)
		}
		if !errors.Is(err, client.ErrEncrypted) || !strings.Contains(err.Error(), want) {
			e.T.Errorf("a client with the other key: %v", err)
		}
	})
}

// Keys change while orders run, each node has them in its own order, and a client of before sends plain events.
func TestRotation(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		ctx := e.T.Context()
		first := e.StartOn(e.Store, registry(e.T), runtime.Options{Codec: aes(e.T, "k1")})
		c, err := first.Client(client.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			e.T.Fatal(err)
		}
		h, err := client.StartNamed[string](ctx, c, "child", secret("child "), client.WithID("child"))
		if err != nil {
			e.T.Fatal(err)
		}
		e.Stop(first)
		second := e.StartOn(e.Store, registry(e.T), runtime.Options{Codec: aes(e.T, "k2", "k1")})
		plain := e.Client(client.Options{})
		if err := plain.Raise(ctx, "child", "hello", secret("plain")); err != nil {
			e.T.Fatal(err)
		}
		c, err = second.Client(client.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			e.T.Fatal(err)
		}
		if got, err := client.HandleOf[string](c, "child", h.Key()).Wait(ctx); err != nil || got != secret("child ")+secret("plain")+secret("of the child") {
			e.T.Errorf("%q, %v", got, err)
		}
	})
}

// What moves to another store is sealed on its way and opens there.
func TestHazard71_MovesSealed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var file bytes.Buffer
	ends := func(e *enginetest.Engine) *client.Client {
		c, err := e.Start(registry(t)).Client(client.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	opts := runtime.Options{Codec: aes(t, "k1")}
	from := ends(enginetest.On(t, memory.New(memory.Options{}), opts))
	h, err := client.StartNamed[string](ctx, from, "simple", secret("input"), client.WithID("simple"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := h.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operate.New(from).Export(ctx, &file, operate.ExportOptions{IDs: []string{"simple"}}); err != nil {
		t.Fatal(err)
	}
	if text := findCanary(file.Bytes()); text != "" {
		t.Errorf("the export has the canary: %s", text)
	}
	to := ends(enginetest.On(t, memory.New(memory.Options{}), opts))
	if _, err := operate.New(to).Import(ctx, &file, operate.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := to.Result(ctx, "simple")
	if err != nil || !strings.Contains(string(got), want) {
		t.Errorf("%s, %v, want %q", got, err, want)
	}
}

// A store that does not allow the level yet takes a codec that only opens.
func TestUnfinishedUpgrade(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	defer store.Close() //nolint:errcheck // memory
	c, err := client.New(store, client.Options{Codec: aes(t, "k1"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.StartNamed[string](t.Context(), c, "simple", secret("x")); !errors.Is(err, client.ErrNotFinished) {
		t.Errorf("a client on a store without a level: %v", err)
	}
}

// The first call of a client may be a start in a transaction of its caller.
func TestFirstStartInATransaction(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "perdure.db")
	store, err := sqlite.OpenWith(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the test is over
	e := enginetest.On(t, store, runtime.Options{Codec: aes(t, "k1")})
	e.Start(registry(t))
	c, err := client.New(store, client.Options{Codec: aes(t, "k1"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.StartNamed[string](t.Context(), c, "simple", secret("input"), sqlite.InTx(tx))
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Wait(t.Context()); err != nil || !strings.HasPrefix(got, secret("input")) {
		t.Errorf("%q, %v", got, err)
	}
}
