package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/audit"
	"github.com/perdure/perdure/internal/retention"
)

const (
	// auditBatch is how many audit records one step removes.
	auditBatch = 500
	// shareOfTime is how much longer a step rests than the storage took for it. A store under load takes longer, and so is left alone for longer.
	shareOfTime = 20
	// maxFreed is how many bytes one round gives back to the disk.
	maxFreed = 256 << 20
	// systemAge is how long ended schedules and bulk jobs stay.
	systemAge = 30 * 24 * time.Hour
)

// StepRetention removes a part of what the rules do not keep. It is for perdure's own activity, whose forms it takes as JSON. from is how far
// an attempt before has come, nil for the first. beat is called after each small step.
func (c *Client) StepRetention(ctx context.Context, request, from []byte, beat func(done []byte)) ([]byte, error) {
	return stepOf(request, from, beat,
		func(req retention.StepRequest, from *retention.Stepped, beat func(retention.Stepped)) (retention.Stepped, error) {
			return c.stepRetention(ctx, req, from, beat)
		})
}

func (c *Client) stepRetention(
	ctx context.Context, req retention.StepRequest, from *retention.Stepped, beat func(retention.Stepped),
) (retention.Stepped, error) {
	s := retentionStep{c: c, done: retention.Stepped{To: req.From}, until: time.Now().Add(retention.StepTime)}
	if from != nil {
		s.done = *from
	}
	rules, _, err := c.rules(ctx, "reading the retention rules")
	if err != nil {
		return s.done, err
	}
	if s.rules = rules; rules.Off() {
		s.done.Off = true
		return s.done, nil
	}
	s.cuts = rules.Cuts()
	for !s.done.Over && time.Now().Before(s.until) {
		began := time.Now()
		n, err := s.next(ctx)
		if err != nil {
			return s.done, err
		}
		beat(s.done)
		if !s.done.Over && !sleep(ctx, s.rest(n, time.Since(began))) {
			return s.done, why(ctx)
		}
	}
	return s.done, nil
}

// A retentionStep is one step of a round.
type retentionStep struct {
	c     *Client
	rules retention.Rules
	cuts  []retention.Cut
	done  retention.Stepped
	until time.Time
}

// rest returns how long to leave the store alone after n removals took a time.
func (s *retentionStep) rest(n int64, took time.Duration) time.Duration {
	paced := time.Duration(float64(n) / s.rules.Rate * float64(time.Second))
	return max(paced-took, shareOfTime*took, 0)
}

// next makes one small step of the current part, and returns how much it has removed.
func (s *retentionStep) next(ctx context.Context) (int64, error) {
	switch part := s.done.To.Part - len(s.cuts); {
	case part < 0:
		return s.prune(ctx, s.cuts[s.done.To.Part])
	case part == 0 && len(s.cuts) > 0:
		return s.pruneOwn(ctx)
	case part == 0:
		s.finish("")
		return 0, nil
	case part == 1:
		return s.trim(ctx)
	case part == 2:
		return s.audit(ctx)
	case part == 3:
		return s.space(ctx)
	default:
		s.done.Over = true
		return 0, nil
	}
}

// finish goes on in the current part behind a cursor, or with the next part.
func (s *retentionStep) finish(cursor string) {
	if s.done.To.Cursor = cursor; cursor == "" {
		s.done.To.Part++
	}
}

func (s *retentionStep) prune(ctx context.Context, cut retention.Cut) (int64, error) {
	p := Pruning{Age: cut.Age, Names: cut.Names, ExceptNames: cut.Except, Limit: int64(s.rules.Batch), Cursor: s.done.To.Cursor}
	for _, status := range cut.Statuses {
		p.Statuses = append(p.Statuses, Status(status.String()))
	}
	return s.pruned(ctx, p)
}

// pruneOwn removes schedules and bulk jobs that ended long ago.
func (s *retentionStep) pruneOwn(ctx context.Context) (int64, error) {
	return s.pruned(ctx, Pruning{Age: systemAge, Limit: int64(s.rules.Batch), Cursor: s.done.To.Cursor, system: true})
}

func (s *retentionStep) pruned(ctx context.Context, p Pruning) (int64, error) {
	p.once = true
	gone, err := s.c.Prune(ctx, p)
	s.done.Instances += gone.Instances
	if err == nil {
		s.finish(gone.Cursor)
	}
	return gone.Instances, err
}

func (s *retentionStep) trim(ctx context.Context) (int64, error) {
	if s.rules.Trim == nil {
		s.finish("")
		return 0, nil
	}
	gone, err := s.c.Trim(ctx, Trimming{
		Age: s.rules.Trim.Age, Keep: s.rules.Trim.Keep, Limit: int64(s.rules.Batch), Cursor: s.done.To.Cursor, once: true,
	})
	s.done.Executions += gone.Executions
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		s.finish("")
		return 0, nil
	case err == nil:
		s.finish(gone.Cursor)
	}
	return gone.Executions, err
}

func (s *retentionStep) audit(ctx context.Context) (n int64, err error) {
	if s.rules.Audit == 0 {
		s.finish("")
		return 0, nil
	}
	gone, err := audit.Prune(ctx, s.c.store, s.rules.Audit, auditBatch)
	s.done.Audit += int64(gone)
	if err == nil && gone < auditBatch {
		s.finish("")
	}
	if err != nil {
		err = fmt.Errorf("pruning the audit: %w", err)
	}
	return int64(gone), err
}

// space gives free space back. Removals make it, so that a round without any has nothing to do.
func (s *retentionStep) space(ctx context.Context) (int64, error) {
	space, err := s.c.Compact(ctx, Compaction{Limit: compactStep})
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return 0, err
	}
	if s.done.Freed += space.Freed; err != nil || space.Freed == 0 || space.Fixed || s.done.Freed >= maxFreed {
		s.finish("")
	}
	return 0, nil
}
