package fileprovider

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// header is the first line of each file.
const header = "perdure example journal 1\n"

// ErrDamaged means that a record which was on disk cannot be read. The file is left unchanged, so that acknowledged
// data is not lost silently.
var ErrDamaged = errors.New("the journal is damaged")

// replay makes the calls of a journal again. It returns the number of the last record and the offset of its end.
// Bytes after that were being written when the process or the machine died, and were never acknowledged. (Damage in
// the very last record looks the same, and one file cannot show the difference.)
func replay(ctx context.Context, journal io.Reader, state *memory.Provider, c *clock) (number, end int64, err error) {
	lines := bufio.NewReaderSize(journal, 1<<16)
	torn := false
	end = int64(len(header))
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, fmt.Errorf("read the journal: %w", err)
		}
		if len(line) == 0 {
			return number, end, nil
		}
		r, ok := decode(line)
		switch {
		case torn && ok && r.Synced > number:
			// It was written after the unreadable record was on disk.
			return 0, 0, fmt.Errorf("record %d: %w", number+1, ErrDamaged)
		case torn || !ok:
			torn = true
		case r.Number != number+1:
			return 0, 0, fmt.Errorf("record %d follows record %d: %w", r.Number, number, ErrDamaged)
		default:
			c.set(r.At)
			if err := redo(ctx, state, r); err != nil {
				return 0, 0, fmt.Errorf("record %d, %s: %w", r.Number, r.Op, err)
			}
			number, end = r.Number, end+int64(len(line))
		}
	}
}

// redo makes a call again. It succeeded once, so it succeeds again.
func redo(ctx context.Context, s *memory.Provider, r record) error {
	switch r.Op {
	case opCreate:
		return again(ctx, r, s.Create)
	case opSteer:
		return again(ctx, r, s.Steer)
	case opFetchTurns:
		return again(ctx, r, s.FetchTurns)
	case opCommitTurn:
		return again(ctx, r, s.CommitTurn)
	case opReleaseTurns:
		return again(ctx, r, releasing(s))
	case opFetchTasks:
		return again(ctx, r, s.FetchTasks)
	case opReportTasks:
		return again(ctx, r, reporting(s))
	case opRenewTasks:
		return again(ctx, r, s.RenewTasks)
	case opSteerTask:
		return again(ctx, r, s.SteerTask)
	case opReset:
		return again(ctx, r, s.Reset)
	case opFork:
		return again(ctx, r, s.Fork)
	case opSend:
		return again(ctx, r, s.Send)
	case opDelete:
		return again(ctx, r, s.Delete)
	case opPrune:
		return again(ctx, r, s.Prune)
	case opDeadLetters:
		return again(ctx, r, s.DeadLetters)
	case opLease:
		return again(ctx, r, s.Lease)
	case opRecord:
		return again(ctx, r, s.Record)
	default:
		return fmt.Errorf("%w: made by a newer release", provider.ErrNewerSchema)
	}
}

func again[Req, Res any](ctx context.Context, r record, call func(context.Context, Req) (Res, error)) error {
	var req Req
	if err := json.Unmarshal(r.Request, &req); err != nil {
		return fmt.Errorf("decode the request: %w", err)
	}
	_, err := call(ctx, req)
	return err
}
