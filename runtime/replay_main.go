package runtime

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/perdure/perdure/codec"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// ReplayOptions are the options of ReplayMain.
type ReplayOptions struct {
	// Open opens the store that the flag -db names. nil: the command replays files only.
	Open func(ctx context.Context, db string) (provider.Provider, error)
	// Codec decrypts the histories; default nil: encrypted ones cannot be read.
	Codec codec.Codec
	// Stdout gets the report, Stderr progress and mistakes of usage. nil: those of the process.
	Stdout, Stderr io.Writer
}

// The exit codes of ReplayMain.
const (
	replayFits       = 0
	replayDiffers    = 1
	replayUnreadable = 2
)

const replayUsage = `usage: replay [-timeout 1m] FILE...
       replay -db STORE [-name NAME] [-status running,suspended] [-id-prefix ID] [-limit N] [-timeout 1m]

Replay runs the orchestrations of this program against stored histories, and reports where they differ. It stores
nothing and runs no activity. FILE is what 'perdure history ID --export FILE' has written.

Exit codes: 0 all replay, 1 one differs, 2 one cannot be read, or the command line is wrong.

`

// replayProgress is after how many histories of a store the command says how far it is.
const replayProgress = 1_000

// ReplayMain is a command that checks a deploy: it replays histories with the code of this program. args are the arguments of the
// command: files, or flags that select instances of a store; -help lists them. Without -name it replays the orchestrations of the
// registry, and without -status those that run or are suspended. It replays the current execution of each.
//
// For each difference it prints the instance, the event, what the history holds, what the code did, the line of the code and
// a hint. It returns the exit code for the program: 0 if all replay, 1 if one differs or its code is not registered, 2 if one cannot
// be read or the arguments are wrong. If both happened, it returns 1. Code that neither waits nor returns within -timeout differs.
//
//	if len(os.Args) > 1 && os.Args[1] == "replay" {
//		os.Exit(runtime.ReplayMain(ctx, reg, os.Args[2:], runtime.ReplayOptions{Open: open}))
//	}
func ReplayMain(ctx context.Context, reg *Registry, args []string, opts ReplayOptions) (exitCode int) {
	m := replayMain{codec: opts.Codec, out: opts.Stdout, errs: opts.Stderr}
	if m.out == nil {
		m.out = os.Stdout
	}
	if m.errs == nil {
		m.errs = os.Stderr
	}
	err := m.parse(args, opts.Open != nil)
	if errors.Is(err, flag.ErrHelp) {
		return replayFits
	}
	if err == nil {
		err = check.Context(ctx)
	}
	if err == nil && reg == nil {
		err = errNoRegistry
	}
	if err == nil {
		m.checker, err = reg.checker()
	}
	if err != nil {
		m.warnf("replay: %v\n", err)
		return replayUnreadable
	}
	if m.db != "" {
		m.store(ctx, opts.Open)
	}
	for _, path := range m.files {
		m.file(ctx, path)
	}
	return m.end()
}

// replayMain is one run of the command.
type replayMain struct {
	*checker

	codec     codec.Codec // nil: none
	out, errs io.Writer
	db        string
	filter    client.Filter
	limit     int
	timeout   time.Duration
	files     []string

	fit, differ, unreadable int
}

// parse reads the arguments.
func (m *replayMain) parse(args []string, stores bool) error {
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	status := "running,suspended"
	flags.DurationVar(&m.timeout, "timeout", time.Minute, "how long the replay of one history may take")
	flags.StringVar(&m.db, "db", "", "the store to read histories from")
	flags.StringVar(&m.filter.Orchestration, "name", "", "only instances of this orchestration")
	flags.StringVar(&status, "status", status, "only instances in these states")
	flags.StringVar(&m.filter.IDPrefix, "id-prefix", "", "only instances whose IDs begin so")
	flags.IntVar(&m.limit, "limit", 0, "at most so many instances of each orchestration, newest first; 0: all")
	err := flags.Parse(args)
	if m.files = flags.Args(); errors.Is(err, flag.ErrHelp) {
		m.warnf("%s", replayUsage)
		flags.SetOutput(m.errs)
		flags.PrintDefaults()
		return flag.ErrHelp
	}
	filtered := ""
	flags.Visit(func(f *flag.Flag) {
		if f.Name != "db" && f.Name != "timeout" {
			filtered = f.Name
		}
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w; -help lists the flags", err)
	case m.db == "" && len(m.files) == 0:
		return errors.New("there is nothing to replay: give files, or a store by -db; -help lists the flags")
	case m.db != "" && len(m.files) > 0:
		return fmt.Errorf("both -db and the file %q are given: give one of them", m.files[0])
	case m.db == "" && filtered != "":
		return fmt.Errorf("flag -%s selects instances of a store: give the store by -db, or leave the flag out", filtered)
	case m.db != "" && !stores:
		return errors.New("flag -db: this program opens no store: set ReplayOptions.Open, or give files")
	case m.limit < 0:
		return fmt.Errorf("flag -limit is %d: give 1 or more, or 0 for all", m.limit)
	case m.timeout <= 0:
		return fmt.Errorf("flag -timeout is %v: give a time above 0", m.timeout)
	}
	return m.states(status)
}

// states sets the states that the filter lets pass.
func (m *replayMain) states(list string) error {
	known := []client.Status{
		client.StatusRunning, client.StatusSuspended, client.StatusCompleted, client.StatusFailed, client.StatusCancelled, client.StatusTerminated,
	}
next:
	for name := range strings.SplitSeq(list, ",") {
		for _, s := range known {
			if strings.EqualFold(name, string(s)) {
				m.filter.Statuses = append(m.filter.Statuses, s)
				continue next
			}
		}
		return fmt.Errorf("flag -status has %q: give some of %v, separated by commas", name, known)
	}
	return nil
}

func (m *replayMain) printf(format string, args ...any) { _, _ = fmt.Fprintf(m.out, format, args...) }

func (m *replayMain) warnf(format string, args ...any) { _, _ = fmt.Fprintf(m.errs, format, args...) }

// file replays the histories of a file.
func (m *replayMain) file(ctx context.Context, path string) {
	f, err := os.Open(path)
	if err != nil {
		m.cannotRead(err)
		return
	}
	defer f.Close() //nolint:errcheck // it was only read
	for h, err := range client.ReadHistories(f) {
		if err != nil {
			m.cannotRead(fmt.Errorf("%s: %w", path, err))
			return
		}
		m.replay(ctx, &h)
	}
}

// store replays the histories that the filter selects.
func (m *replayMain) store(ctx context.Context, open func(context.Context, string) (provider.Provider, error)) {
	store, err := open(ctx, m.db)
	if err != nil {
		m.cannotRead(fmt.Errorf("opening the store: %w", err))
		return
	}
	defer store.Close() //nolint:errcheck // it was only read
	c, err := client.New(store, client.Options{})
	if err != nil {
		m.cannotRead(err)
		return
	}
	names := m.names()
	if m.filter.Orchestration != "" {
		names = []string{m.filter.Orchestration}
	}
	for _, name := range names {
		f := m.filter
		f.Orchestration = name
		if err := m.instances(ctx, c, f); err != nil {
			m.cannotRead(err)
			return
		}
	}
	if m.fit+m.differ+m.unreadable == 0 {
		m.warnf("replay: no instance matches; the orchestrations of this program are %q\n", m.names())
	}
}

// instances replays the current executions of the instances that match. The error is that of the list.
func (m *replayMain) instances(ctx context.Context, c *client.Client, f client.Filter) error {
	read := 0
	for d, err := range c.All(ctx, f) {
		if err != nil {
			return err
		}
		h, err := client.HandleOf[any](c, d.ID, d.Key).ExportHistory(ctx, 0)
		switch {
		case errors.Is(err, client.ErrNotFound): // deleted meanwhile
		case err != nil:
			m.cannotRead(err)
		default:
			m.replay(ctx, &h)
		}
		if read++; read%replayProgress == 0 {
			m.warnf("%d instances of %s read\n", read, f.Orchestration)
		}
		if read == m.limit {
			return nil
		}
	}
	return nil
}

// replay replays one history and prints where the code differs.
func (m *replayMain) replay(ctx context.Context, h *client.HistoryFile) {
	limited, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	err := m.decrypt(limited, h)
	if err == nil {
		err = m.checker.replay(limited, h)
	}
	if err == nil {
		m.fit++
		return
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		m.differ++
		m.printf("DIFFERS %v (-timeout is %v)\n", err, m.timeout)
		return
	}
	e, ok := errors.AsType[*ReplayError](err)
	if !ok {
		m.cannotRead(err)
		return
	}
	m.differ++
	m.printf("DIFFERS %s\n", e.what())
	line := func(name, text string) {
		if text != "" {
			m.printf("  %-9s %s\n", name, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n            "))
		}
	}
	if e.EventID > 0 {
		line("event", fmt.Sprint(e.EventID))
	}
	line("expected", e.Expected)
	line("got", e.Got)
	line("line", e.Source)
	line("hint", e.Hint)
	line("stack", e.Stack)
}

// decrypt opens the values of a history.
func (m *replayMain) decrypt(ctx context.Context, h *client.HistoryFile) (err error) {
	if m.codec != nil {
		*h, err = h.Decrypt(ctx, m.codec)
	}
	return err
}

func (m *replayMain) cannotRead(err error) {
	m.unreadable++
	m.printf("UNREADABLE %v\n", err)
}

// end prints the sums and returns the exit code.
func (m *replayMain) end() int {
	m.printf("%d replay, %d differ, %d unreadable\n", m.fit, m.differ, m.unreadable)
	switch {
	case m.differ > 0:
		return replayDiffers
	case m.unreadable > 0:
		return replayUnreadable
	}
	return replayFits
}
