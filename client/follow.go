package client

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/provider"
)

// FollowOption is an option of Follow.
type FollowOption interface {
	applyFollow(o *followOptions) error
}

type followOptions struct{ most time.Duration }

type followFunc func(o *followOptions) error

func (f followFunc) applyFollow(o *followOptions) error { return f(o) }

// FollowFor bounds the wait of one Follow, so that a server can answer a long poll in time. After it, Follow returns the
// description with the same mark. Without it Follow waits until its context ends.
func FollowFor(d time.Duration) FollowOption {
	return followFunc(func(o *followOptions) error {
		if d <= 0 {
			return fmt.Errorf("FollowFor(%v): give more than zero", d)
		}
		o.most = d
		return nil
	})
}

// Follow waits until the description of the instance that the ID names now differs from the one that a mark stands for. It
// returns the description with a mark of its own, for the next call. With the mark "" it returns at once.
//
// Everything that Describe shows counts: messages, retries, heartbeats and the Blocked flag, too. A change is seen within a second,
// whichever process made it. A caller that repeats Follow reads at most ten times a second. A thousand followers cost a store
// hardly more than one. An instance that is deleted meanwhile is ErrNotFound. Description.Waits is not set; see Waits.
// Activity.NotBegun is as of the return: what nodes do is no change of the instance.
//
// A mark is opaque, and the same in all processes of one release. Any other text counts as the mark of something that has changed.
func (c *Client) Follow(ctx context.Context, id, mark string, opts ...FollowOption) (Description, string, error) {
	return c.follow(ctx, access.Target{ID: id}, mark, opts)
}

// Follow waits until the description of the instance differs from the one that a mark stands for. See Client.Follow.
func (h Handle[Out]) Follow(ctx context.Context, mark string, opts ...FollowOption) (Description, string, error) {
	if err := h.usable(ctx); err != nil {
		return Description{}, "", err
	}
	return h.c.follow(ctx, h.t, mark, opts)
}

// Watch ranges over the descriptions of the instance: the present one, and one after each change, at most ten a second. It ends after the
// first error, or after the description in which the instance has ended. A slow loop misses descriptions, never the last one.
func (h Handle[Out]) Watch(ctx context.Context) iter.Seq2[Description, error] {
	return func(yield func(Description, error) bool) {
		for mark := ""; ; {
			d, next, err := h.Follow(ctx, mark)
			if !yield(d, err) || err != nil || d.Status.Ended() {
				return
			}
			mark = next
		}
	}
}

func (c *Client) follow(ctx context.Context, t access.Target, mark string, opts []FollowOption) (Description, string, error) {
	op := fmt.Sprintf("following %s", t)
	fail := func(err error) (Description, string, error) {
		return Description{}, "", fmt.Errorf("%s: %w", op, err)
	}
	var o followOptions
	if err := c.usable(ctx); err != nil {
		return fail(err)
	}
	if err := bind.Apply(opts, func(opt FollowOption) error { return opt.applyFollow(&o) }); err != nil {
		return fail(access.Invalid(err))
	}
	if len(mark) > provider.MaxName {
		return fail(fmt.Errorf("%w: the mark has %d bytes: give one that Follow has returned", ErrInvalid, len(mark)))
	}
	t, _, err := c.store.Resolve(ctx, t, op)
	if err != nil {
		return Description{}, "", err
	}
	req := provider.GetRequest{Key: t.Key, WithTasks: true, WithValues: true, WithMark: true, Mark: mark}
	until := time.Now().Add(o.most)
	for {
		if req.Wait = provider.MaxWait; o.most > 0 {
			req.Wait = min(req.Wait, max(0, time.Until(until)))
		}
		if mark == "" {
			req.Wait = 0
		}
		res, err := c.store.waited(ctx, op, req)
		if err != nil {
			return Description{}, "", err
		}
		if res.Mark != mark || o.most > 0 && !time.Now().Before(until) {
			d, err := c.described(ctx, op, &res)
			return d, res.Mark, err
		}
	}
}

// waited makes a Get that may block, and repeats it after failures of the store until ctx ends.
func (s *storage) waited(ctx context.Context, op string, req provider.GetRequest) (res provider.GetResult, err error) {
	_, err = s.Repeat(ctx, op, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, req.Wait+slack)
		defer cancel()
		res, err = s.Get(ctx, req)
		return err
	})
	if err != nil {
		return res, access.Explain(op, 0, err)
	}
	return res, nil
}
