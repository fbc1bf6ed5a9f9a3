package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/provider"
)

// reopened is the output of reset and fork.
type reopened struct {
	ID        string        `json:"id"`
	Action    string        `json:"action"`
	Event     int64         `json:"event"`
	Execution int64         `json:"execution,omitempty"` // of a reset: the new one
	Fork      string        `json:"fork,omitempty"`      // ID of the new instance
	Key       provider.UUID `json:"key,omitzero"`        // of the new instance
	Reason    string        `json:"reason,omitempty"`
	Point     *client.Point `json:"point,omitempty"` // with --to: what it means
}

// openFlags are the flags that reset and fork share.
type openFlags struct {
	execution int64
	at        int64
	to        string
	preview   bool
	point     *client.PointKind // of --to; nil: none
	reason    string
	input     string
	timeout   time.Duration
	request   string
}

func (f *openFlags) add(cmd *cobra.Command) {
	cmd.Flags().Int64Var(&f.at, "at", 0, "event before which the new history begins to differ; 'perdure history' numbers them (this or --to is required)")
	cmd.Flags().StringVar(&f.to, "to", "", "find the event: first-failure or last-failure of an activity, patch=ID, event=N, or time=2026-01-02T03:04:05Z")
	cmd.Flags().BoolVar(&f.preview, "preview", false, "with --to: only show the event, what is lost and what runs again")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for people")
	cmd.Flags().StringVar(&f.input, "input", "", "with --at 1: another input as JSON, @file, or - for standard input")
	cmd.Flags().Int64Var(&f.execution, "execution", 0,
		"the execution whose history was looked at; if another one is current, nothing happens (default: the current one)")
	cmd.Flags().StringVar(&f.request, "request-id", "", "a repeat of the command with this ID happens once (default: a random one)")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 30*time.Second, "how long to wait for a node")
}

// options returns the options of a call, or what is wrong with the flags.
func (f *openFlags) options(cmd *cobra.Command) (opts []client.OpenOption, err error) {
	switch {
	case cmd.Flags().Changed("at") == (f.to != ""):
		return nil, badUsage("flags --at and --to: give one of them, such as --at with the number of an event, which 'perdure history' shows")
	case f.preview && f.to == "":
		return nil, badUsage("flag --preview is for --to: give that, too")
	case f.timeout <= 0:
		return nil, badUsage("flag --timeout is %v: give more than zero", f.timeout)
	}
	if f.point, err = pointKind(f.to); err != nil {
		return nil, err
	}
	if f.request == "" {
		f.request = uuid.NewString()
	}
	opts = append(opts, client.Repeatable(f.request))
	if cmd.Flags().Changed("execution") {
		opts = append(opts, client.InExecution(f.execution))
	}
	if f.reason != "" {
		opts = append(opts, client.WithReason(f.reason))
	}
	if cmd.Flags().Changed("input") {
		value, err := readJSON(cmd, "input", f.input)
		if err != nil {
			return nil, err
		}
		opts = append(opts, client.WithInput(value))
	}
	return opts, nil
}

// pointKind reads --to; nil: it is not given.
func pointKind(text string) (*client.PointKind, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // the flag is not given
	}
	k, err := client.ParsePointKind(text)
	if err != nil {
		return nil, badUsage("flag --to: %v", err)
	}
	return &k, nil
}

// find finds the event of --to, and returns what it means; nil: --at was given. The act is bound to the execution that was read: that of --execution,
// whichever is current, so that a repeat finds the same event.
func (f *openFlags) find(ctx context.Context, h client.Handle[json.RawMessage]) (*client.Point, []client.OpenOption, error) {
	if f.point == nil {
		return nil, nil, nil
	}
	kind := *f.point
	if f.execution != 0 && !f.preview {
		kind = kind.In(f.execution)
	}
	p, err := h.FindPoint(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	if f.execution != 0 && f.execution != p.Execution {
		return nil, nil, fmt.Errorf("execution %d of %q: %w: it is %d", f.execution, h.ID(), client.ErrSuperseded, p.Execution)
	}
	f.at, f.execution = p.Event, p.Execution
	return &p, []client.OpenOption{client.InExecution(p.Execution)}, nil
}

// showPoint says what a point means, without doing anything.
func (a *app) showPoint(cmd *cobra.Command, id string, p *client.Point) error {
	return a.show(cmd, reopened{ID: id, Action: "preview", Event: p.Event, Point: p}, func(w *grid) {
		fmt.Fprintf(w, "event %d of execution %d of %s\n", p.Event, p.Execution, plain(id))
		fmt.Fprintf(w, "lost: %s, in which %s ended\n", amount.Of(p.Lost, "event"), amount.Of(p.Ended, "activity"))
		fmt.Fprintf(w, "received again: %s of others\n", amount.Of(p.Received, "event"))
		for _, r := range p.Reruns {
			fmt.Fprintf(w, "runs again: %s of event %d\n", plain(r.Name), r.EventID)
		}
	})
}

// withOrigin calls do with the instance that is reset or forked.
func (f *openFlags) withOrigin(a *app, cmd *cobra.Command, id string, do func(context.Context, client.Handle[json.RawMessage]) error) error {
	return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
		ctx, cancel := context.WithTimeout(ctx, f.timeout)
		defer cancel()
		h, err := client.Lookup[json.RawMessage](ctx, c, id)
		if err != nil {
			return err
		}
		if err = do(ctx, h); errors.Is(err, client.ErrOutcomeUnknown) {
			err = fmt.Errorf("%w, here with %s", err, f.again())
		}
		return err
	})
}

// again returns the flags with which a repeat happens once. A repeat that looked for the point anew would find another one, in the execution that the
// first try may have opened.
func (f *openFlags) again() string {
	if f.point == nil || f.execution == 0 {
		return "--request-id " + f.request
	}
	return fmt.Sprintf("--at %d --execution %d --request-id %s in place of --to", f.at, f.execution, f.request)
}

func newReset(a *app) *cobra.Command {
	var f openFlags
	dropLater := false
	cmd := &cobra.Command{
		Use:   "reset ID",
		Short: "Take an instance back to an event of its history",
		Long: "Reset opens a new execution of the instance with the history before the event, and lets it go on from there. It\n" +
			"works in any status. Pending activities run again, and later events of others are received again. A service that\n" +
			"runs the orchestration must be running on the database: it replays the history first.",
		Example: "  perdure reset order-42 --at 17 --reason 'wrong price' --db orders.db\n" +
			"  perdure reset order-42 --to last-failure --preview --db orders.db",
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			shared, err := f.options(cmd)
			if err != nil {
				return err
			}
			var opts []client.ResetOption
			for _, opt := range shared {
				opts = append(opts, opt)
			}
			if dropLater {
				opts = append(opts, client.DropLater())
			}
			return f.withOrigin(a, cmd, args[0], func(ctx context.Context, h client.Handle[json.RawMessage]) error {
				point, found, err := f.find(ctx, h)
				if err != nil {
					return err
				}
				if f.preview {
					return a.showPoint(cmd, h.ID(), point)
				}
				for _, opt := range found {
					opts = append(opts, opt)
				}
				execution, err := client.Reset(ctx, h, f.at, opts...)
				if err != nil {
					return err
				}
				out := reopened{ID: h.ID(), Action: "reset", Event: f.at, Execution: execution, Reason: f.reason, Point: point}
				return a.show(cmd, out, func(w *grid) {
					fmt.Fprintf(w, "reset %s to event %d: it runs as execution %d\n", plain(out.ID), out.Event, out.Execution)
				})
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&dropLater, "drop-later", false, "forget the events that were received after the point")
	return cmd
}

func newFork(a *app) *cobra.Command {
	var f openFlags
	into := ""
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Start another instance from an event of a history",
		Long: "Fork starts a new instance with the history before the event, and lets it go on from there. The origin stays as\n" +
			"it is, in any status. Activities that are pending at the event run in both. A service that runs the orchestration\n" +
			"must be running on the database: it replays the history first.",
		Example: "  perdure fork order-42 --at 17 --id order-42-again --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			shared, err := f.options(cmd)
			if err == nil && into == "" {
				err = badUsage("flag --id is missing: give the ID of the new instance")
			}
			if err != nil {
				return err
			}
			var opts []client.ForkOption
			for _, opt := range shared {
				opts = append(opts, opt)
			}
			return f.withOrigin(a, cmd, args[0], func(ctx context.Context, h client.Handle[json.RawMessage]) error {
				point, found, err := f.find(ctx, h)
				if err != nil {
					return err
				}
				if f.preview {
					return a.showPoint(cmd, h.ID(), point)
				}
				for _, opt := range found {
					opts = append(opts, opt)
				}
				fork, err := client.Fork(ctx, h, f.at, into, opts...)
				if err != nil {
					return err
				}
				out := reopened{ID: h.ID(), Action: "fork", Event: f.at, Fork: fork.ID(), Key: fork.Key(), Reason: f.reason, Point: point}
				return a.show(cmd, out, func(w *grid) {
					fmt.Fprintf(w, "forked %s at event %d into %s\n", plain(out.ID), out.Event, plain(out.Fork))
				})
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&into, "id", "", "ID of the new instance (required)")
	return cmd
}
