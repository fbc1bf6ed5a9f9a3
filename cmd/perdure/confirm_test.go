package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// runConfirmed runs a command that destroys, with what the user types.
func runConfirmed(ctx context.Context, in io.Reader, terminal bool, args ...string) (done bool, prompt string, err error) {
	var errs bytes.Buffer
	a := &app{terminal: func(any) bool { return terminal }}
	cmd := &cobra.Command{Use: "drop", SilenceErrors: true, SilenceUsage: true}
	yes := yesFlag(cmd)
	//nolint:contextcheck // confirm has the context of cmd
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := a.confirm(cmd, *yes, "drop \x1b[31mall"); err != nil {
			return err
		}
		done = true
		return nil
	}
	cmd.SetArgs(append([]string{}, args...))
	cmd.SetIn(in)
	cmd.SetErr(&errs)
	err = cmd.ExecuteContext(ctx)
	return done, errs.String(), err
}

func TestConfirmation(t *testing.T) {
	for _, c := range []struct {
		typed    string
		terminal bool
		args     []string
		done     bool
		prompt   string
		err      error
	}{
		{"y\n", true, nil, true, "This will drop \\x1b[31mall. Go on? [y/N] ", nil},
		{" YES \nmore", true, nil, true, "[y/N]", nil},
		{"n\n", true, nil, false, "[y/N]", errDeclined},
		{"\n", true, nil, false, "[y/N]", errDeclined},
		{"", true, nil, false, "[y/N]", errDeclined}, // end of the input
		{"yep\n", true, nil, false, "[y/N]", errDeclined},
		{"y\n", true, []string{"--yes"}, true, "", nil},
		{"", false, []string{"--yes"}, true, "", nil},
	} {
		done, prompt, err := runConfirmed(t.Context(), strings.NewReader(c.typed), c.terminal, c.args...)
		if done != c.done || !errors.Is(err, c.err) || !strings.Contains(prompt, c.prompt) || (c.prompt == "" && prompt != "") {
			t.Errorf("%q %v: done %v, %q, %v", c.typed, c.args, done, prompt, err)
		}
	}
	done, prompt, err := runConfirmed(t.Context(), strings.NewReader("y\n"), false)
	if done || prompt != "" || codeOf(err) != exitUsage || !strings.Contains(err.Error(), "add --yes") {
		t.Errorf("without a terminal: done %v, %q, %v", done, prompt, err)
	}
}

// A signal ends the question, although nothing was typed.
func TestInterruptedConfirmation(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	in, typing := io.Pipe()
	t.Cleanup(func() { _ = typing.Close() })
	cancel(errInterrupted)
	if done, _, err := runConfirmed(ctx, in, true); done || !errors.Is(err, errInterrupted) {
		t.Errorf("done %v, %v", done, err)
	}
}

func TestTerminalIsRecognised(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	for _, stream := range []any{nil, &bytes.Buffer{}, null} {
		if isTerminal(stream) {
			t.Errorf("%T is taken for a terminal", stream)
		}
	}
}

// A progress on a terminal rewrites one line from the first second on; elsewhere it prints a line every 10 s.
func TestProgress(t *testing.T) {
	for terminal, want := range map[bool]string{
		true:  "\r150 of 1000 instances (15 %), 2s\r300 of 1000 instances (30 %), 3s\r1 instance, 3s                  \r" + strings.Repeat(" ", 14) + "\r",
		false: "900 of 1000 instances (90 %), 10s\n2000 instances, 20s\n",
	} {
		var out bytes.Buffer
		clock := time.Unix(1000, 0)
		p := &progress{out: &out, what: "instance", terminal: terminal, now: func() time.Time { return clock }}
		p.begin()
		set := func(after time.Duration, done, total int64) {
			clock = p.began.Add(after)
			p.set(done, total)
		}
		set(500*time.Millisecond, 50, 1000)
		if terminal {
			set(1500*time.Millisecond, 150, 1000)
			set(1600*time.Millisecond, 160, 1000) // too early
			set(2500*time.Millisecond, 300, 1000)
			set(3*time.Second, 1, 0)
		} else {
			set(9*time.Second, 800, 1000)
			set(10*time.Second, 900, 1000)
			set(20*time.Second, 2000, 0)
		}
		p.end()
		if out.String() != want {
			t.Errorf("terminal %v: %q, must be %q", terminal, out.String(), want)
		}
	}
}
