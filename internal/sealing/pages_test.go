package sealing_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// widest notes the most items of a call.
type widest struct {
	codec.Codec

	most, all int
}

func (w *widest) Open(ctx context.Context, items []codec.Sealed) ([]codec.Plain, error) {
	w.most, w.all = max(w.most, len(items)), w.all+len(items)
	return w.Codec.Open(ctx, items)
}

func (w *widest) Digest(ctx context.Context, data []byte) ([]byte, error) {
	return w.Codec.(codec.Digester).Digest(ctx, data)
}

// The texts of a group are more than a page of a list has. The codec gets them in calls of a page each, and all are opened.
func TestTextsOfAGroupAreOpenedInPages(t *testing.T) {
	t.Parallel()
	c := &widest{Codec: newSwitched(t, "a").Codec}
	p := seal(memory.New(memory.Options{}), c)
	const failed = provider.MaxPage + 200
	for n := range failed {
		fail(t, p, fmt.Sprint("failed", n), fmt.Sprintf("declined %d", n%7))
	}
	groups, err := p.FailureGroups(t.Context(), provider.FailureGroupsRequest{})
	if err != nil || len(groups.Groups) != 1 {
		t.Fatalf("%+v, %v", groups, err)
	}
	c.all = 0
	res, err := p.FailureGroups(t.Context(), provider.FailureGroupsRequest{Group: groups.Groups[0].Group})
	if err != nil || len(res.Groups) != 1 || len(res.Groups[0].Texts) != 7 || c.all < failed {
		t.Errorf("%+v, %v: %d opened, want all %d, which have 7 texts", res, err, c.all, failed)
	}
	if c.most > provider.MaxPage {
		t.Errorf("a call has %d items, want at most %d", c.most, provider.MaxPage)
	}
}
