package codec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/codec"
)

func key(id string, fill byte) codec.Key {
	return codec.Key{ID: id, Bytes: bytes.Repeat([]byte{fill}, 32)}
}

func newAES(t *testing.T, keys ...codec.Key) codec.Codec {
	t.Helper()
	c, err := codec.AES(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func seal(t *testing.T, c codec.Codec, items ...codec.Plain) []codec.Sealed {
	t.Helper()
	out, err := c.Seal(t.Context(), items)
	if err != nil || len(out) != len(items) {
		t.Fatalf("%d items, %v", len(out), err)
	}
	return out
}

// What one key has sealed opens with it wherever it stands in the list, and with no other one.
func TestRotation(t *testing.T) {
	t.Parallel()
	plain := codec.Plain{Purpose: codec.Event, Bytes: []byte(`"secret"`)}
	before, after := newAES(t, key("a", 1), key("b", 2)), newAES(t, key("b", 2), key("a", 1))
	old, fresh := seal(t, before, plain)[0], seal(t, after, plain)[0]
	if old.KeyID != "a" || fresh.KeyID != "b" || bytes.Contains(old.Bytes, []byte("secret")) {
		t.Errorf("%+v, %+v", old, fresh)
	}
	for _, c := range []codec.Codec{before, after} {
		got, err := c.Open(t.Context(), []codec.Sealed{old, fresh})
		if err != nil || string(got[0].Bytes) != `"secret"` || string(got[1].Bytes) != `"secret"` {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := newAES(t, key("c", 3)).Open(t.Context(), []codec.Sealed{old}); !errors.Is(err, codec.ErrNoKey) {
		t.Errorf("without the key: %v", err)
	}
	if _, err := newAES(t, key("a", 9)).Open(t.Context(), []codec.Sealed{old}); !errors.Is(err, codec.ErrNoKey) {
		t.Errorf("with another key of the ID: %v", err)
	}
}

// Items grow by no more than Growth says, two of the same bytes differ, and each bit and the purpose count.
func TestSealedItems(t *testing.T) {
	t.Parallel()
	c := newAES(t, key("a", 1))
	for _, n := range []int{0, 1, 100, 2 << 20} {
		plain := codec.Plain{Purpose: codec.Value, Bytes: make([]byte, n)}
		two := seal(t, c, plain, plain)
		if len(two[0].Bytes) > n+c.Growth() || c.Growth() > codec.MaxGrowth || bytes.Equal(two[0].Bytes, two[1].Bytes) {
			t.Errorf("%d bytes became %d", n, len(two[0].Bytes))
		}
	}
	sealed := seal(t, c, codec.Plain{Purpose: codec.Value, Bytes: []byte("plain")})[0]
	for i := range sealed.Bytes {
		changed := sealed
		changed.Bytes = bytes.Clone(sealed.Bytes)
		changed.Bytes[i] ^= 0x80
		if got, err := c.Open(t.Context(), []codec.Sealed{changed}); err == nil {
			t.Errorf("byte %d changed: %q", i, got)
		}
	}
	other := sealed
	other.Purpose = codec.Event
	short := sealed
	short.Bytes = short.Bytes[:3]
	for _, bad := range []codec.Sealed{other, short} {
		if _, err := c.Open(t.Context(), []codec.Sealed{bad}); !errors.Is(err, codec.ErrDamaged) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestInvalidKeys(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]codec.Key{
		{}, {key("", 1)}, {key("a b", 1)}, {key(strings.Repeat("x", codec.MaxKeyID+1), 1)}, {{ID: "a", Bytes: bytes.Repeat([]byte{1}, 31)}}, {{ID: "a", Bytes: make([]byte, 32)}}, {key("a", 1), key("a", 2)},
	} {
		if _, err := codec.AES(keys...); err == nil {
			t.Errorf("%v is taken", keys)
		}
	}
	if _, err := codec.AESFrom(nil, time.Minute); err == nil {
		t.Error("no source is taken")
	}
	if _, err := codec.AESFrom(new(vault), time.Millisecond); err == nil {
		t.Error("a cache of a millisecond is taken")
	}
}

// OpenOnly opens and never seals.
func TestOpenOnly(t *testing.T) {
	t.Parallel()
	c := newAES(t, key("a", 1))
	only := codec.OpenOnly(c)
	if !codec.Seals(c) || codec.Seals(only) || codec.Seals(nil) || only.Growth() != c.Growth() {
		t.Error("it seals")
	}
	if _, err := only.Seal(t.Context(), nil); err == nil {
		t.Error("it sealed")
	}
	got, err := only.Open(t.Context(), seal(t, c, codec.Plain{Purpose: codec.Event, Bytes: []byte("x")}))
	if err != nil || string(got[0].Bytes) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

// vault counts how often it is asked. The current key changes every hour.
type vault struct {
	began time.Time
	asked atomic.Int64
	down  atomic.Bool
}

var errDown = errors.New("the key service is down")

func (v *vault) Current(ctx context.Context) (codec.Key, error) {
	return v.ByID(ctx, fmt.Sprintf("hour-%d", int(time.Since(v.began).Hours())))
}

func (v *vault) ByID(_ context.Context, id string) (codec.Key, error) {
	v.asked.Add(1)
	time.Sleep(3 * time.Second) //nolint:forbidigo // virtual
	if v.down.Load() {
		return codec.Key{}, errDown
	}
	var hour byte
	if _, err := fmt.Sscanf(id, "hour-%d", &hour); err != nil {
		return codec.Key{}, codec.ErrNoKey
	}
	return key(id, hour+1), nil
}

// A source is asked once for each key, not for each item. What is kept outlives an outage of the source.
func TestHazard125_DataKeysAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &vault{began: time.Now()}
		c, err := codec.AESFrom(v, 10*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		items := make([]codec.Plain, 50_000)
		began := time.Now()
		sealed := seal(t, c, items...)
		for range 100 {
			if _, err := c.Open(t.Context(), sealed); err != nil {
				t.Fatal(err)
			}
		}
		if n := v.asked.Load(); n != 1 || time.Since(began) > 3*time.Second {
			t.Errorf("asked %d times in %v", n, time.Since(began))
		}
		v.down.Store(true)
		time.Sleep(15 * time.Minute) //nolint:forbidigo // virtual
		if again := seal(t, c, items[0]); again[0].KeyID != "hour-0" {
			t.Errorf("%+v", again)
		}
		time.Sleep(15 * time.Minute) //nolint:forbidigo // virtual
		if _, err := c.Seal(t.Context(), items[:1]); !errors.Is(err, errDown) {
			t.Errorf("sealed with a key that is %v old: %v", time.Since(began), err)
		}
		v.down.Store(false)
		time.Sleep(time.Hour) //nolint:forbidigo // virtual
		if fresh := seal(t, c, items[0]); fresh[0].KeyID != "hour-1" {
			t.Errorf("the key was not rotated: %+v", fresh)
		}
		if _, err := c.Open(t.Context(), sealed[:1]); err != nil {
			t.Errorf("the old key does not open: %v", err)
		}
		if _, err := c.Open(t.Context(), []codec.Sealed{{KeyID: "other", Bytes: sealed[0].Bytes}}); !errors.Is(err, codec.ErrNoKey) {
			t.Errorf("an unknown key: %v", err)
		}
	})
}

// stuck is a source that hangs for what it is told to, until the call is over.
type stuck struct {
	mu    sync.Mutex
	hangs map[string]bool // by ID of the key; "": the current one
	asked map[string]int
	now   string
}

func (s *stuck) Current(ctx context.Context) (codec.Key, error) {
	s.mu.Lock()
	now := s.now
	s.mu.Unlock()
	return s.answer(ctx, "", now)
}

func (s *stuck) ByID(ctx context.Context, id string) (codec.Key, error) { return s.answer(ctx, id, id) }

func (s *stuck) answer(ctx context.Context, asked, id string) (codec.Key, error) {
	s.mu.Lock()
	s.asked[asked]++
	hangs := s.hangs[asked]
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return codec.Key{}, context.Cause(ctx)
	}
	if id == "missing" {
		return codec.Key{}, codec.ErrNoKey
	}
	return key(id, 1), nil
}

func (s *stuck) count(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[id]
}

func (s *stuck) hang(id string, hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangs[id] = hangs
}

// A source that hangs holds up neither sealing, while the last key may seal, nor keys that it does not hang for.
func TestHazard72_ASourceThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{hangs: map[string]bool{}, asked: map[string]int{}, now: "a"}
		c, err := codec.AESFrom(s, 10*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		item := codec.Plain{Purpose: codec.Event, Bytes: []byte("x")}
		seal(t, c, item)
		s.hang("", true)
		time.Sleep(10 * time.Minute) //nolint:forbidigo // virtual
		began := time.Now()
		for range 1_000 {
			if got := seal(t, c, item); got[0].KeyID != "a" {
				t.Fatalf("%+v", got)
			}
		}
		time.Sleep(time.Second) //nolint:forbidigo // virtual
		if time.Since(began) > time.Second || s.count("") != 2 {
			t.Errorf("%v, asked %d times", time.Since(began), s.count(""))
		}
		s.hang("", false)
		s.mu.Lock()
		s.now = "b"
		s.mu.Unlock()
		time.Sleep(time.Minute) //nolint:forbidigo // virtual
		seal(t, c, item)
		synctest.Wait()
		if got := seal(t, c, item); got[0].KeyID != "b" {
			t.Errorf("not refreshed: %+v", got)
		}
		// Another key.
		s.hang("old", true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		sealed := seal(t, c, item)
		go func() { _, _ = c.Open(ctx, []codec.Sealed{{KeyID: "old", Bytes: sealed[0].Bytes}}) }()
		synctest.Wait()
		began = time.Now()
		for range 100 {
			if _, err := c.Open(ctx, []codec.Sealed{{KeyID: "missing", Bytes: sealed[0].Bytes}}); !errors.Is(err, codec.ErrNoKey) {
				t.Errorf("%v", err)
			}
		}
		if s.count("missing") != 1 || time.Since(began) != 0 {
			t.Errorf("asked %d times for a key that is missing, %v", s.count("missing"), time.Since(began))
		}
		time.Sleep(time.Second) //nolint:forbidigo // virtual
		if _, err := c.Open(ctx, []codec.Sealed{{KeyID: "missing", Bytes: sealed[0].Bytes}}); !errors.Is(err, codec.ErrNoKey) || s.count("missing") != 2 {
			t.Errorf("%v, asked %d times", err, s.count("missing"))
		}
	})
}
