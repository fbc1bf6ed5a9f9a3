package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/sealing"
	"github.com/perdure/perdure/provider"
)

// historyFormat is the highest format of history files that this release reads, and the one that it writes.
const historyFormat = 1

// ErrHistoryFile means that a text is no history file, or not one that this release reads.
var ErrHistoryFile = errors.New("not a readable history file")

// HistoryFile is the stored history of one execution, for tests that replay it: see runtime.Replay.
//
// WriteHistory and ReadHistories are its form as a text: JSON values, one a line. The first has the fields below, the number of
// events, the settings of the execution, and the format in "perdureHistory". Then comes one value for each event: "bytes" is what
// is stored, in base64, and "event" shows it to people as HistoryEvent does. Only the bytes count. Files may be joined by writing one
// after the other.
type HistoryFile struct {
	InstanceID    string
	Key           provider.UUID
	Execution     int64  // from 1
	Orchestration string // its stored name
	CodeVersion   string // of the code that runs it
	Status        Status // of the instance when the history was read
	EngineLevel   int64  // see Description.EngineLevel
	// Events are the stored bytes of the events, from event 1. Those of an execution that has not begun are empty.
	Events [][]byte
}

// historyHead is the first value of a history in a file.
type historyHead struct {
	Format        *int64           `json:"perdureHistory"`
	InstanceID    string           `json:"instance"`
	Key           provider.UUID    `json:"key"`
	Execution     int64            `json:"execution"`
	Orchestration string           `json:"orchestration"`
	CodeVersion   string           `json:"codeVersion"`
	Status        Status           `json:"status"`
	EngineLevel   int64            `json:"engineLevel"`
	Settings      *historySettings `json:"settings,omitempty"` // shown only: the start event has those that count
	Events        int64            `json:"events"`
}

type historySettings struct {
	MaxPayload int64 `json:"maxPayload"`
	MaxEvents  int64 `json:"maxEvents"`
	MaxBytes   int64 `json:"maxBytes"`
	Flags      int64 `json:"flags"`
}

// historyLine is an event in a file.
type historyLine struct {
	Bytes []byte        `json:"bytes"`
	Event *HistoryEvent `json:"event,omitempty"` // shown only
}

// ExportHistory returns the stored history of an execution of the instance that the ID names now; execution 0 is the current
// one. It ends where the last stored turn ends. Errors: ErrInvalid, ErrNotFound, or the error of ctx.
func (c *Client) ExportHistory(ctx context.Context, id string, execution int64) (HistoryFile, error) {
	return c.exportHistory(ctx, access.Target{ID: id}, execution)
}

func (c *Client) exportHistory(ctx context.Context, t access.Target, execution int64) (f HistoryFile, err error) {
	op := fmt.Sprintf("exporting the history of %s", t)
	if err := c.usable(ctx); err != nil {
		return f, fmt.Errorf("%s: %w", op, err)
	}
	if execution < 0 {
		return f, fmt.Errorf("%s: %w: execution %d: give 1 or more, or 0 for the current one", op, ErrInvalid, execution)
	}
	res, err := c.store.Instance(ctx, t, op, false)
	if err != nil {
		return f, err
	}
	i := &res.Instance
	f = HistoryFile{
		InstanceID: i.ID, Key: i.Key, Execution: i.Execution, Orchestration: i.Name, CodeVersion: i.CodeVersion,
		Status: Status(i.Status.String()), EngineLevel: i.EngineLevel,
	}
	req := provider.ReadHistoryRequest{Key: i.Key, Execution: i.Execution, From: 1, To: i.HistoryLength}
	if earlier := execution != 0 && execution != i.Execution; earlier {
		f.Execution, req.Execution, req.To = execution, execution, 0
	} else if i.HistoryLength == 0 {
		return f, nil
	}
	// A file has what is stored. What is encrypted stays so.
	under := &storage{Store: &access.Store{Full: sealing.Under(c.store.Full), Logger: c.store.Logger, Timeout: c.store.Timeout}}
	for more := true; more; {
		page, err := under.historyPage(ctx, req, op)
		if err != nil {
			return f, err
		}
		for _, e := range page.Events {
			f.Events = append(f.Events, e.Data)
		}
		req.From = int64(len(f.Events)) + 1
		more = page.More && len(page.Events) > 0 && (req.To == 0 || req.From <= req.To)
	}
	if req.To == 0 && len(f.Events) > 0 {
		// The row is of another execution.
		first, _, err := history.DecodeShown(1, f.Events[0])
		if err != nil {
			return f, fmt.Errorf("%s: %w", op, err)
		}
		if started, ok := first.Body.(*history.ExecutionStarted); ok {
			f.Orchestration, f.CodeVersion = started.Name, started.CodeVersion
		}
	}
	return f, nil
}

// Readable ranges over the events in a form for people. It ends after the first event that cannot be decoded.
func (f *HistoryFile) Readable() iter.Seq2[HistoryEvent, error] {
	return func(yield func(HistoryEvent, error) bool) {
		var last HistoryEvent
		for i, data := range f.Events {
			shown, err := readable(provider.Event{ID: int64(i) + 1, Data: data}, last)
			if !yield(shown, err) || err != nil {
				return
			}
			last = shown
		}
	}
}

// WriteHistory writes a history in the form of a file. It writes nothing if an event cannot be decoded.
func WriteHistory(w io.Writer, f HistoryFile) error {
	op := fmt.Sprintf("writing the history of instance %q", f.InstanceID)
	head := historyHead{
		Format: new(int64(historyFormat)), InstanceID: f.InstanceID, Key: f.Key, Execution: f.Execution, Orchestration: f.Orchestration,
		CodeVersion: f.CodeVersion, Status: f.Status, EngineLevel: f.EngineLevel, Events: int64(len(f.Events)),
	}
	shown := make([]HistoryEvent, 0, len(f.Events))
	for e, err := range f.Readable() {
		if err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		shown = append(shown, e)
	}
	if len(f.Events) > 0 {
		first, _, _ := history.DecodeShown(1, f.Events[0]) // it was readable
		if started, ok := first.Body.(*history.ExecutionStarted); ok {
			s := &started.Settings
			head.Settings = &historySettings{MaxPayload: s.MaxPayload, MaxEvents: s.MaxEvents, MaxBytes: s.MaxBytes, Flags: s.Flags}
		}
	}
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	err := lines.Encode(head)
	for i := 0; err == nil && i < len(shown); i++ {
		err = lines.Encode(historyLine{Bytes: f.Events[i], Event: &shown[i]})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// ReadHistories ranges over the histories of a file, in order. It ends after the first error, which is ErrHistoryFile or that of
// reading: a text of another kind, a format of a newer release, events that are missing or cannot be decoded, a value of more than
// 128 MiB. A file without any history is an error, too.
func ReadHistories(r io.Reader) iter.Seq2[HistoryFile, error] {
	return func(yield func(HistoryFile, error) bool) {
		bounded := &valueReader{r: r}
		values := json.NewDecoder(bounded)
		for n := 1; ; n++ {
			f, err := readHistory(values, bounded)
			switch {
			case errors.Is(err, io.EOF) && n > 1:
				return
			case errors.Is(err, io.EOF):
				err = fmt.Errorf("%w: it is empty", ErrHistoryFile)
			}
			if err != nil {
				err = fmt.Errorf("reading history %d of the file: %w", n, err)
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// maxHistoryValue bounds a value of a history file in bytes: a commit in base64, with a view of the same size.
const maxHistoryValue = 4 * provider.MaxCommitBytes

// valueReader reads at most maxHistoryValue bytes from each call of next to the following one.
type valueReader struct {
	r    io.Reader
	left int
}

func (v *valueReader) next() { v.left = maxHistoryValue }

// Read implements io.Reader.
func (v *valueReader) Read(p []byte) (n int, err error) {
	if v.left == 0 {
		return 0, fmt.Errorf("%w: a value in it is longer than %d bytes: events are not", ErrHistoryFile, maxHistoryValue)
	}
	n, err = v.r.Read(p[:min(len(p), v.left)])
	v.left -= n
	return n, err //nolint:wrapcheck // the error of the caller's reader, io.EOF above all
}

// readHistory reads one history. It returns io.EOF at the end of the file.
func readHistory(values *json.Decoder, bounded *valueReader) (f HistoryFile, err error) {
	var head historyHead
	bounded.next()
	if err := values.Decode(&head); err != nil {
		if errors.Is(err, io.EOF) {
			return f, io.EOF
		}
		return f, malformed(values, err)
	}
	switch {
	case head.Format == nil:
		return f, fmt.Errorf("%w: the JSON value before byte %d has no field perdureHistory: give a file of 'perdure history ID --export FILE'",
			ErrHistoryFile, values.InputOffset())
	case *head.Format > historyFormat:
		return f, fmt.Errorf("%w: it has format %d, and this release reads up to %d: use the release that wrote it, or a newer one",
			ErrHistoryFile, *head.Format, historyFormat)
	case *head.Format < 1:
		return f, fmt.Errorf("%w: it has format %d, and formats begin with 1", ErrHistoryFile, *head.Format)
	}
	f = HistoryFile{
		InstanceID: head.InstanceID, Key: head.Key, Execution: head.Execution, Orchestration: head.Orchestration,
		CodeVersion: head.CodeVersion, Status: head.Status, EngineLevel: head.EngineLevel,
	}
	for id := int64(1); id <= head.Events; id++ {
		var line struct {
			Bytes []byte `json:"bytes"`
		}
		bounded.next()
		err := values.Decode(&line)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return f, fmt.Errorf("%w: it is cut off: instance %q has %d of %d events", ErrHistoryFile, f.InstanceID, id-1, head.Events)
		}
		if err != nil {
			return f, malformed(values, err)
		}
		if _, _, err := history.DecodeShown(id, line.Bytes); err != nil {
			return f, fmt.Errorf("%w: instance %q: %w", ErrHistoryFile, f.InstanceID, err)
		}
		f.Events = append(f.Events, line.Bytes)
	}
	return f, nil
}

// malformed returns the error of a value that is no JSON or of another shape. An error of the reader stays what it is.
func malformed(values *json.Decoder, err error) error {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, shape := errors.AsType[*json.UnmarshalTypeError](err)
	_, letters := errors.AsType[base64.CorruptInputError](err)
	if syntax || shape || letters || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: near byte %d: %w", ErrHistoryFile, values.InputOffset(), err)
	}
	return err
}
