package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/moving"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// ImportOptions are the settings of Import.
type ImportOptions struct {
	// Back lets instances come back to the store that they were exported from: they replace what was sealed there. Give it only if they
	// run in no other store.
	Back bool
	// Progress is called now and then on the caller's goroutine. nil: not.
	Progress func(MoveProgress)
}

// ImportResult says what an import has brought.
type ImportResult struct {
	Transfer  string `json:"transfer"`
	Instances int64  `json:"instances"` // in the file
	Freed     int64  `json:"freed"`     // that run here since this call, or have ended
	Kept      int64  `json:"kept"`      // that an earlier import of the file has freed, or that never left this store
}

// Import reads a file of Export and stores its instances under the same keys. They do not run before the whole file was read and its
// checksum is right, and the check of perdure doctor has found nothing wrong with them. Then all of them continue.
//
// An import that fails or is killed can be repeated with the same file: what was freed stays as it is. Until then, its instances count
// as being deleted. client.Client.Delete by force removes them.
//
// Errors: ErrDamagedFile and ErrNewerFile, client.ErrExists for an ID or a key in use, ErrClockBehind if the store's clock is more than a minute
// behind that of the source, ErrUnsound, errors.ErrUnsupported for a store without provider.Mover.
func (o *Operator) Import(ctx context.Context, r io.Reader, opts ImportOptions) (res ImportResult, err error) {
	const op = "importing instances"
	if err := o.usable(ctx); err != nil {
		return res, fmt.Errorf("%s: %w", op, err)
	}
	if check.IsNil(r) {
		return res, fmt.Errorf("%s: %w: the reader is nil: give a file of Export", op, client.ErrInvalid)
	}
	mover, ok := provider.As[provider.Mover](o.caller.Store.Provider)
	if !ok {
		return res, fmt.Errorf("%s: %w", op, provider.Lacking("import", "Mover"))
	}
	file := moving.NewReader(r)
	header, err := file.Begin()
	if err != nil {
		return res, fmt.Errorf("%s: %w", op, err)
	}
	a := &access.Act{Kind: string(client.ActImport), Op: op, Other: "instances", Detail: "transfer " + header.Transfer.String()}
	err = o.caller.Perform(ctx, a, func(ctx context.Context) error {
		i := &importing{caller: o.caller, mover: mover, opts: &opts, transfer: header.Transfer, op: op}
		if err := i.read(ctx, file); err != nil {
			return err
		}
		if err := i.finish(ctx); err != nil {
			return err
		}
		res = i.res
		res.Transfer = header.Transfer.String()
		return nil
	})
	return res, err
}

// importing is one import.
type importing struct {
	caller   *access.Caller
	mover    provider.Mover
	opts     *ImportOptions
	transfer provider.UUID
	op       string
	keys     []provider.UUID // that wait to be freed
	skip     provider.UUID   // the instance whose further pages are of no use
	res      ImportResult
}

func (i *importing) reportProgress(step string, done int64, total int) {
	if i.opts.Progress != nil {
		i.opts.Progress(MoveProgress{Step: step, Done: done, Total: int64(total)})
	}
}

// read stores the pages of the file up to its end.
func (i *importing) read(ctx context.Context, file *moving.Reader) error {
	for {
		page, end, err := file.Next()
		if err != nil {
			return fmt.Errorf("%s: %w", i.op, err)
		}
		if end != nil {
			i.res.Instances = end.Instances
			return nil
		}
		if page.Key == i.skip {
			continue
		}
		if err := importable(page); err != nil {
			return fmt.Errorf("%s: instance %q: %w", i.op, page.ID, err)
		}
		if err := i.store(ctx, page); err != nil {
			return fmt.Errorf("%s: instance %q: %w", i.op, page.ID, err)
		}
		i.reportProgress("reading", int64(len(i.keys))+i.res.Kept, 0)
	}
}

// importable refuses an instance of the user in the corner of perdure itself, and one of perdure itself outside of it.
func importable(page *moving.Page) error {
	head := page.Parcel.Head
	if head == nil || reserved.ID(head.Instance.ID) == reserved.Name(head.Instance.Name) {
		return nil
	}
	return fmt.Errorf("%w: it runs %s, but IDs that begin with %s and orchestrations that begin with %s belong to perdure itself: export without it",
		client.ErrInvalid, check.Quote(head.Instance.Name), reserved.IDPrefix, reserved.NamePrefix)
}

const (
	// clockPatience is how long an import waits for a clock that is behind.
	clockPatience = time.Minute
	clockPause    = 200 * time.Millisecond
)

// renewLimit sets the time limit of an instance anew, so that the time of the move does not count.
func (i *importing) renewLimit(ctx context.Context, in *provider.Instance) error {
	for n := range in.Attributes {
		a := &in.Attributes[n]
		l, ok := reserved.ParseLimit(a.Text)
		if a.Name != reserved.LimitAttribute || !ok || in.Status.Ended() {
			continue
		}
		now, err := i.caller.Store.Now(ctx)
		if err != nil {
			return err
		}
		a.Text = l.Renewed(now.Std(), in.Execution).String()
	}
	return nil
}

// store stores one page.
func (i *importing) store(ctx context.Context, page *moving.Page) error {
	if head := page.Parcel.Head; head != nil {
		if err := i.renewLimit(ctx, &head.Instance); err != nil {
			return err
		}
	}
	req := provider.ImportRequest{
		Key: page.Key, Transfer: i.transfer, Number: page.Number, Last: page.Last, Replace: i.opts.Back && page.Number == 0, At: page.At,
		Parcel: page.Parcel,
	}
	var res provider.ImportResult
	call := func() error {
		_, err := i.caller.Store.Write(ctx, i.op, func(ctx context.Context) (err error) {
			res, err = i.mover.Import(ctx, req)
			return err
		})
		return err
	}
	err := call()
	for began := time.Now(); errors.Is(err, provider.ErrClockBehind) && time.Since(began) < clockPatience && access.Sleep(ctx, clockPause); {
		err = call()
	}
	head := page.Parcel.Head
	switch {
	case errors.Is(err, provider.ErrExists) && i.opts.Back && head != nil && head.Instance.Status.Ended():
		i.skip = page.Key // it was copied and has stayed here
		i.res.Kept++
		return nil
	case err != nil:
		return err
	case res.Done && res.Seal.State == provider.SealNone: // an earlier import has freed it
		i.skip = page.Key
		i.res.Kept++
	case res.Done:
		i.skip = page.Key
		i.keys = append(i.keys, page.Key)
	}
	return nil
}

// finish opens the instances, checks them, and frees them. All of them accept messages before the first one runs.
func (i *importing) finish(ctx context.Context) error {
	var held []provider.UUID
	for n, key := range i.keys {
		i.reportProgress("checking", int64(n), len(i.keys))
		seal, err := i.seal(ctx, key, provider.SealHeld)
		if err != nil {
			return err
		}
		if seal.State == provider.SealHeld {
			held = append(held, key)
		}
	}
	if err := i.check(ctx); err != nil {
		return err
	}
	for n, key := range held {
		i.reportProgress("freeing", int64(n), len(held))
		if _, err := i.seal(ctx, key, provider.SealNone); err != nil {
			return err
		}
	}
	i.res.Freed = int64(len(i.keys))
	return nil
}

// seal brings one instance to a seal.
func (i *importing) seal(ctx context.Context, key provider.UUID, to provider.SealState) (provider.Seal, error) {
	var res provider.SealResult
	req := provider.SealRequest{Key: key, Transfer: i.transfer, To: to, Commit: provider.UUID(uuid.New())}
	_, err := i.caller.Store.Write(ctx, i.op, func(ctx context.Context) (err error) {
		res, err = i.mover.Seal(ctx, req)
		return err
	})
	if err != nil {
		return provider.Seal{}, fmt.Errorf("%s: freeing instance %s: %w", i.op, key, err)
	}
	return res.Seal, nil
}
