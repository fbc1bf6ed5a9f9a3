package validations

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/provider"
)

const anyKey = "A provider stores any Key, or refuses one of another slot than its ID's with [ErrInvalid]."

// keyOfVersion makes a key as a release before slots made it, or another caller does.
func keyOfVersion(version byte) provider.UUID {
	key := unique()
	key[6], key[8] = version<<4|key[6]&0x0f, 0x80|key[8]&0x3f
	return key
}

// createKeys starts instances with keys that a divided store would not look for under their IDs.
func createKeys(t *trial) {
	for n, key := range []provider.UUID{
		keyOfVersion(7), keyOfVersion(4), provider.NewKeyIn(provider.SlotOfID("i2") + 1), {15: 1}, keyOfVersion(8),
	} {
		req := createRequest(fmt.Sprint("i", n))
		req.Key = key
		_, err := t.Create(t.ctx, req)
		t.storedUnder(key, req.ID, err)
	}
	t.storedUnder(t.begin("new").Key, "new", nil)
}

// createChildKeys starts children with keys of an older node, next to one with a key of this release.
func createChildKeys(t *trial) {
	i := t.begin("parent")
	for n, key := range []provider.UUID{keyOfVersion(7), provider.NewKeyIn(provider.SlotOfID("child1") + 1)} {
		req := next(i)
		old, now := startOf(i, fmt.Sprint("child", n)), startOf(i, fmt.Sprint(i.Key, "/1/", n))
		old.Create.Key = key
		req.Starts = []provider.Start{old, now}
		_, err := t.CommitTurn(t.ctx, req)
		t.storedUnder(key, old.Create.ID, err)
		t.storedUnder(now.Create.Key, now.Create.ID, err)
		i = t.get(i.Key)
	}
}

// storedUnder checks that an instance is there under its ID and its key after a success, and that nothing is after a refusal.
func (t *trial) storedUnder(key provider.UUID, id string, refused error) {
	byKey, err := t.Get(t.ctx, provider.GetRequest{Key: key})
	byID, errByID := t.Get(t.ctx, provider.GetRequest{ID: id})
	if refused != nil {
		t.want(refused, provider.ErrInvalid)
		t.checkf(errors.Is(err, provider.ErrNotFound) && errors.Is(errByID, provider.ErrNotFound),
			"a refused key %s and its ID %q return %v and %v, want ErrNotFound", key, id, err, errByID)
		return
	}
	t.ok(err)
	t.ok(errByID)
	t.checkf(byKey.Instance.ID == id && byKey.Instance.Key == key && byID.Instance.Key == key,
		"key %s has instance %q, ID %q has key %s", key, byKey.Instance.ID, id, byID.Instance.Key)
}
