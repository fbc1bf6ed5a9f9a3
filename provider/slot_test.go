package provider_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/provider"
)

// Slots never change: a store over several databases finds instances by them.
func TestSlotsNeverChange(t *testing.T) {
	t.Parallel()
	const key, old = "0198a3c4-0000-8abc-aaf0-000000000000", "0198a3c4-0000-7abc-8000-000000000000"
	const tenant, order, inKey, inOld = 0x9ac, 0xdf8, 0xabc, 0x38c
	for id, want := range map[string]int{
		"tenant42": tenant, "tenant42!order-7": tenant, "tenant42!order-8": tenant, "tenant42!": tenant, "tenant42!a!b": tenant,
		"order-7": order, "!order-7": 0x686, "": 0xe3b,
		key + "/1/2": inKey, key + "/1!2": inKey, "0198A3C4-0000-8ABC-AAF0-000000000000/": inKey, key: 0x3e4, key + "!/": 0x3e4, "x" + key + "/1": 0x2ef,
		old + "/1/2": inOld, old: inOld, "0198a3c4-0000-8abc-aaf0-00000000000g/1": 0xa45,
	} {
		if got := provider.SlotOfID(id); got != want {
			t.Errorf("%q has slot %#x, want %#x", id, got, want)
		}
	}
	for text, want := range map[string]int{key: inKey, old: inOld} {
		if got := provider.SlotOf(parsed(t, text)); got != want {
			t.Errorf("key %s has slot %#x, want %#x", text, got, want)
		}
	}
}

func parsed(t *testing.T, text string) (key provider.UUID) {
	t.Helper()
	if err := key.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return key
}

func TestKeysHaveTimeVersionSlotAndVariant(t *testing.T) {
	t.Parallel()
	slots := make(map[int]bool)
	var ones, zeros, last provider.UUID
	before := time.Now().UnixMilli()
	const many = 20_000
	for n := range many {
		id := fmt.Sprint("order-", n)
		key := provider.NewKey(id)
		if u := uuid.UUID(key); u.Version() != 8 || u.Variant() != uuid.RFC4122 {
			t.Fatalf("key %s has version %d, variant %v", key, u.Version(), u.Variant())
		}
		if bytes.Compare(last[:], key[:]) >= 0 {
			t.Fatalf("key %s comes after %s", key, last)
		}
		last = key
		if provider.SlotOf(key) != provider.SlotOfID(id) {
			t.Fatalf("key %s has slot %d, its ID %d", key, provider.SlotOf(key), provider.SlotOfID(id))
		}
		if child := key.String() + "/1/5"; provider.SlotOf(provider.NewKey(child)) != provider.SlotOf(key) {
			t.Fatalf("child %s has another slot", child)
		}
		var ms int64
		for _, b := range key[:6] {
			ms = ms<<8 | int64(b)
		}
		if ms < before || ms > time.Now().UnixMilli()+100 { // keys of other tests come in between
			t.Fatalf("key %s is of %d, it is %d", key, ms, time.Now().UnixMilli())
		}
		slots[provider.SlotOf(key)] = true
		for i, b := range key {
			ones[i], zeros[i] = ones[i]|b, zeros[i]|^b
		}
	}
	if len(slots) < provider.Slots*9/10 {
		t.Errorf("%d keys have %d slots", many, len(slots))
	}
	if ones[8] != 0xbf || zeros[8] != 0x7f {
		t.Errorf("the variant and the slot have bits %#x and %#x", ones[8], zeros[8])
	}
	for i := 9; i < 16; i++ {
		if ones[i] != 0xff || zeros[i] != 0xff {
			t.Errorf("byte %d has bits that never change", i)
		}
	}
}

func TestKeysOfAtOnceDiffer(t *testing.T) {
	t.Parallel()
	const callers, each = 8, 2000
	keys := make(chan provider.UUID, callers*each)
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range each {
				keys <- provider.NewKeyIn(1)
			}
		})
	}
	group.Wait()
	close(keys)
	seen := make(map[uint64]bool) // their times
	for key := range keys {
		seen[binary.BigEndian.Uint64(key[:])] = true
	}
	if len(seen) != callers*each {
		t.Errorf("%d keys have %d times", callers*each, len(seen))
	}
}

// A key costs no more than one of version 7, and no allocation.
func TestKeysAllocateNothing(t *testing.T) { //nolint:paralleltest // it counts allocations
	allowed := 0.0
	if racedetector.On {
		allowed = 1 // its own
	}
	for _, id := range []string{"order-7", "tenant42!order-7", "0198a3c4-0000-7abc-8000-000000000000", "0198a3c4-0000-8abc-aaf0-000000000000/1/2"} {
		if n := testing.AllocsPerRun(100, func() { provider.NewKey(id) }); n > allowed {
			t.Errorf("a key for %q makes %v allocations", id, n)
		}
	}
}

func BenchmarkKey(b *testing.B) {
	b.Run("tagged", func(b *testing.B) {
		for b.Loop() {
			provider.NewKey("tenant42!order-7")
		}
	})
	b.Run("child", func(b *testing.B) {
		for b.Loop() {
			provider.NewKey("0198a3c4-0000-8abc-aaf0-000000000000/1/2")
		}
	})
	b.Run("version7", func(b *testing.B) {
		for b.Loop() {
			uuid.Must(uuid.NewV7())
		}
	})
}
