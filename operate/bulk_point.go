package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

const (
	// previewPoints is how many histories a preview reads for points.
	previewPoints = 200
	// previewPointsTime is how long it goes on to the next one.
	previewPointsTime = 5 * time.Second
)

// BulkPoints says how many of the newest instances that match have the point that a job looks for. The job skips those that have none.
type BulkPoints struct {
	To      string `json:"to"`      // the kind of point
	Looked  int64  `json:"looked"`  // instances whose history was read, at most 200
	Without int64  `json:"without"` // of these, those that have no such point
	Unread  int64  `json:"unread"`  // of these, those whose history cannot be read here: they count as failed
	Exact   bool   `json:"exact"`   // all that match were looked at; otherwise there may be more
}

// PreviewBulkTo is PreviewBulk of a job with BulkJob.To: it also looks for the point in the histories of the newest 200 instances that match, for about 5 s.
func (o *Operator) PreviewBulkTo(ctx context.Context, f client.Filter, to client.PointKind) (BulkPreview, error) {
	const op = "previewing a bulk job"
	text, err := to.MarshalText()
	if err != nil {
		return BulkPreview{}, fmt.Errorf("%s: %w", op, err)
	}
	p, err := o.PreviewBulk(ctx, f)
	if err != nil {
		return p, err
	}
	stored, err := o.bulkChosen(&f)
	if err != nil {
		return p, fmt.Errorf("%s: %w", op, err)
	}
	points := BulkPoints{To: string(text)}
	p.Points = &points
	find := o.caller.BulkActs()[string(client.ActReset)].Point
	until := time.Now().Add(previewPointsTime)
	for cursor := ""; ; {
		page, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.List, provider.ListRequest{
			Filter: stored, Cursor: cursor, Max: previewPoints,
			Omit: []provider.ListField{provider.ListAttributes, provider.ListCustomStatus, provider.ListBlockedMessage},
		})
		if err != nil {
			return p, access.Explain(op, 0, err)
		}
		for n := range page.Instances {
			if reserved.ID(page.Instances[n].ID) {
				continue
			}
			if points.Looked >= previewPoints || time.Now().After(until) {
				return p, nil
			}
			switch _, err := find(ctx, page.Instances[n].Key, &bulk.Args{To: points.To}); {
			case err == nil:
			case errors.Is(err, client.ErrNoPoint):
				points.Without++
			case errors.Is(err, client.ErrNotFound): // deleted meanwhile
				continue
			case endsStep(ctx, err):
				return p, fmt.Errorf("%s: %w", op, err)
			default:
				points.Unread++
			}
			points.Looked++
		}
		if cursor = page.Cursor; cursor == "" {
			points.Exact = true
			return p, nil
		}
	}
}

// finds reports whether the act looks for its point in each history.
func (s *bulkStep) finds() bool { return s.act.Point != nil && s.req.Job.Args.To != "" }

// planPoint finds the point of an instance that is planned. full reports that the plan has taken long enough without it: histories may be long.
func (s *bulkStep) planPoint(ctx context.Context, p *bulk.Planned) (full bool, err error) {
	if len(s.done.Plan) > 0 && time.Now().After(s.until) {
		return true, nil
	}
	p.Point, err = s.pointOf(ctx, p.Key)
	return false, err
}

// searched gives a step its time anew when it has looked for points: otherwise it might do nothing of its plan.
func (s *bulkStep) searched() {
	if s.finds() {
		s.until = time.Now().Add(bulk.StepTime)
	}
}

// pointOf returns where the act opens the history of an instance; nil: there is no such point, or it cannot be told. The step says why when it comes to
// the instance.
func (s *bulkStep) pointOf(ctx context.Context, key provider.UUID) (*bulk.PlannedPoint, error) {
	p, err := s.act.Point(ctx, key, &s.req.Job.Args)
	switch {
	case err == nil:
		return &p, nil
	case endsStep(ctx, err):
		return nil, err
	}
	return nil, nil //nolint:nilnil // see noPoint
}

// noPoint returns why an instance has no planned point: access.ErrNoEffect if its history has none.
func (s *bulkStep) noPoint(ctx context.Context, key provider.UUID) error {
	_, err := s.act.Point(ctx, key, &s.req.Job.Args)
	// Without an error it has got one since the plan.
	if err == nil || errors.Is(err, client.ErrNoPoint) {
		return access.ErrNoEffect
	}
	return err
}

// endsStep reports whether an error is one of the storage or of ctx, which may be over later, and not of an instance.
func endsStep(ctx context.Context, err error) bool { return ctx.Err() != nil || passes(err) }
