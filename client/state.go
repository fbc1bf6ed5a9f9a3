package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// Sentinels of StatusOf and Value. Compare with errors.Is.
var (
	// ErrNotSet: code has not set the status or the key, or has cleared it.
	ErrNotSet = errors.New("nothing is set")
	// ErrNotStored: what code has set last could not be stored. The error says why.
	ErrNotStored = errors.New("what the code has set could not be stored")
)

// StatusOf returns what the orchestration has set last with SetStatus. It is one indexed read and needs no node: dashboards
// and pollers use it. It is as old as the last turn that was stored, and stays readable after the end.
//
// Errors: ErrNotSet, ErrNotStored, ErrNotFound, orchestration.ErrPayload if the status is no T, or the error of ctx.
func StatusOf[T, Out any](ctx context.Context, h Handle[Out]) (T, error) {
	op := fmt.Sprintf("reading the status of %s", h.t)
	var none T
	if err := h.usable(ctx); err != nil {
		return none, err
	}
	res, err := h.c.store.shown(ctx, op, provider.GetRequest{Key: h.t.Key})
	if err != nil {
		return none, err
	}
	return decodeShown[T](h.c, op, res.Instance.CustomStatus)
}

// Value returns what the orchestration has set last under a key with orchestration.SetValue. It is one indexed read like
// StatusOf, with the same errors, and ErrInvalid for a key that no code can set.
func Value[T, Out any](ctx context.Context, h Handle[Out], key string) (T, error) {
	op := fmt.Sprintf("reading value %s of %s", check.Quote(key), h.t)
	var none T
	if err := h.usable(ctx); err != nil {
		return none, err
	}
	if err := access.Name("key", key); err != nil {
		return none, fmt.Errorf("%s: %w", op, err)
	}
	if replay.IsReserved(key) {
		return none, fmt.Errorf("%s: %w: it is a key of the engine; code cannot set it", op, ErrInvalid)
	}
	res, err := h.c.store.shown(ctx, op, provider.GetRequest{Key: h.t.Key, Value: key})
	if err != nil {
		return none, err
	}
	if res.Value == nil {
		return none, fmt.Errorf("%s: %w", op, ErrNotSet)
	}
	return decodeShown[T](h.c, op, res.Value.Value)
}

// shown reads what an instance shows.
func (s *storage) shown(ctx context.Context, op string, req provider.GetRequest) (provider.GetResult, error) {
	res, err := access.Read(ctx, s.Store, op, s.Get, req)
	if err != nil {
		return res, access.Explain(op, 0, err)
	}
	return res, nil
}

func decodeShown[T any](c *Client, op string, data []byte) (v T, err error) {
	if len(data) == 0 {
		return v, fmt.Errorf("%s: %w", op, ErrNotSet)
	}
	if err := history.SealedIn(data); err != nil {
		return v, fmt.Errorf("%s: %w", op, err)
	}
	if why, refused := payload.Refused(data); refused {
		return v, fmt.Errorf("%s: %w: %s", op, ErrNotStored, why)
	}
	if err := payload.Decode(data, &v); err != nil {
		var none T
		return none, c.errors.New(orchestration.ErrPayload, "%s: %w: read it as the type that the code sets", op, err)
	}
	return v, nil
}
