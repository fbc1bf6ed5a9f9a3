package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// scriptTime bounds how long "until" repeats a command.
const scriptTime = 30 * time.Second

// unscripted are the commands that no script runs, each with its own tests or with nothing to show.
func unscripted() []string {
	return []string{
		"bench", "demo", "dev", "dashboard", "top", "help", "completion bash", "completion fish", "completion powershell", "completion zsh", // they run until stopped, or print the same on each store
	}
}

// A script is a file testdata/scripts/*.script. Its lines are:
//
//	$ COMMAND            runs the binary; what it prints must follow
//	quiet $ COMMAND      runs the binary, which must succeed; its output is not compared
//	until TEXT $ COMMAND repeats the command until its output has the text; the output is not compared
//	input TEXT           is the standard input of the next command
//
// DB stands for the store, DIR for a folder that is empty at the beginning, and NODE for the owner of the node. Behind a command stands its
// output, with SPAN for how long an attempt took. A line "! TEXT" is standard error, and "= N" an exit code that is not 0. Lines with # and
// empty lines are kept. Scripts whose name begins with sqlite or postgres run on that store only.
type script struct {
	t       *testing.T
	path    string
	replace *strings.Replacer
	hide    *strings.Replacer
	binary  string
	ran     []string // command paths
}

// run runs the script, and returns the file as it is now.
func (s *script) run() string {
	text, err := os.ReadFile(s.path)
	if err != nil {
		s.t.Fatal(err)
	}
	var now strings.Builder
	input := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		until, command, isCommand := strings.Cut(line, "$ ")
		switch {
		case strings.HasPrefix(line, "input "):
			input = strings.TrimPrefix(line, "input ") + "\n"
			fmt.Fprintln(&now, line)
		case isCommand && until == "":
			fmt.Fprintf(&now, "%s\n%s", line, s.execute(command, input).transcript(s))
			input = ""
		case isCommand && until == "quiet ":
			if got := s.execute(command, ""); got.code != 0 {
				s.t.Fatalf("%s: exit code %d: %s", command, got.code, got.errs)
			}
			fmt.Fprintln(&now, line)
		case isCommand && strings.HasPrefix(until, "until "):
			s.repeat(strings.TrimSpace(strings.TrimPrefix(until, "until ")), command)
			fmt.Fprintln(&now, line)
		case line == "" || strings.HasPrefix(line, "#"):
			fmt.Fprintln(&now, line)
		}
	}
	return now.String()
}

// shellOutput is what a command has printed.
type shellOutput struct {
	out, errs string
	code      int
}

// execute runs the binary once.
func (s *script) execute(command, input string) shellOutput {
	s.t.Helper()
	args := words(s.replace.Replace(command))
	s.ran = append(s.ran, strings.Join(args, " "))
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(s.t.Context(), s.binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		s.t.Fatal(err)
	} else if ok {
		return shellOutput{out.String(), errs.String(), exit.ExitCode()}
	}
	return shellOutput{out.String(), errs.String(), 0}
}

// repeat runs a command until it succeeds and its output has a text.
func (s *script) repeat(text, command string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), scriptTime)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		got := s.execute(command, "")
		if got.code == 0 && strings.Contains(got.out, text) {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			s.t.Fatalf("%s: %q does not come; the output is\n%s%s", command, text, got.out, got.errs)
		}
	}
}

// Parts of the output that differ from run to run, besides those of steady.
var (
	anyPadding = regexp.MustCompile(`(\S) {2,}`)
	anySpan    = regexp.MustCompile(`, for [0-9.]+[mµ]?s, on `)
	anyFigure  = regexp.MustCompile(`"(historyBytes|engineLevel|engine|fileBytes|bytes)":\d+`)
)

// transcript returns the output as it stands in a script.
func (p shellOutput) transcript(s *script) string {
	var text strings.Builder
	text.WriteString(s.plain(p.out))
	for line := range strings.Lines(s.plain(p.errs)) {
		text.WriteString("! " + line)
	}
	if p.code != 0 {
		fmt.Fprintf(&text, "= %d\n", p.code)
	}
	return text.String()
}

// plain returns a text without what differs from run to run. Columns keep two spaces between them, and an
// empty line becomes ~.
func (s *script) plain(text string) string {
	text = s.hide.Replace(steady(s.hide.Replace(text)))
	text = anySpan.ReplaceAllString(text, ", for SPAN, on ")
	text = anyFigure.ReplaceAllStringFunc(text, func(f string) string { return digits.ReplaceAllString(f, "N") })
	return strings.ReplaceAll(anyPadding.ReplaceAllString(text, "$1  "), "\n\n", "\n~\n")
}

// words splits a command line at spaces, except within single quotes.
func words(line string) (all []string) {
	word, quoted, begun := "", false, false
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, begun = !quoted, true
		case r == ' ' && !quoted:
			if begun {
				all = append(all, word)
			}
			word, begun = "", false
		default:
			word, begun = word+string(r), true
		}
	}
	if begun {
		all = append(all, word)
	}
	return all
}

// Scripts drive the built binary beside a running node. They print the same on each store, and together they run every command.
func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs some hundred processes")
	}
	cluster := postgrestest.New(t)
	paths, err := filepath.Glob("testdata/scripts/*.script")
	if err != nil || len(paths) == 0 {
		t.Fatal("no scripts:", err)
	}
	var mu sync.Mutex
	var ran []string
	scripts := 0
	t.Run("run", func(t *testing.T) {
		for i, path := range paths {
			name := strings.TrimSuffix(filepath.Base(path), ".script")
			onServer := strings.HasPrefix(name, "postgres")
			runOn := func(t *testing.T, db string, write bool) {
				t.Parallel()
				commands := runScript(t, path, db, write)
				mu.Lock()
				defer mu.Unlock()
				ran = append(ran, commands...)
				scripts++
			}
			if !onServer {
				t.Run(name+"/sqlite", func(t *testing.T) { runOn(t, filepath.Join(t.TempDir(), "script.db"), *update) })
			}
			if !strings.HasPrefix(name, "sqlite") {
				database := fmt.Sprintf("script%d", i)
				postgrestest.Exec(t, cluster.URL(), "CREATE DATABASE "+database)
				url := strings.Replace(cluster.URL(), "/postgres?", "/"+database+"?", 1)
				t.Run(name+"/postgres", func(t *testing.T) { runOn(t, url, *update && onServer) })
			}
		}
	})
	if scripts < 2*len(paths)-2 {
		return // some were left out, or have failed
	}
	for _, command := range commandsOf(newRoot(&app{}), "") {
		called := func(line string) bool { return strings.HasPrefix(line+" ", command+" ") }
		if !slices.ContainsFunc(ran, called) && !slices.Contains(unscripted(), command) {
			t.Errorf("no script runs 'perdure %s'", command)
		}
	}
}

// runScript runs a script on a new store with a node, compares it with the file, and returns the commands.
func runScript(t *testing.T, path, db string, write bool) []string {
	t.Helper()
	owner := startScriptNode(t, db)
	dir, host := t.TempDir(), shellUser().Name
	s := &script{
		t: t, path: path, binary: binary(t),
		replace: strings.NewReplacer("DB", db, "DIR", dir, "NODE", owner),
		hide:    strings.NewReplacer(db, "DB", dir, "DIR", owner, "NODE", host, "USER"),
	}
	now := s.run()
	if write {
		if err := os.WriteFile(path, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if now != string(want) {
		t.Errorf("the output differs from %s; run the test with -update if it is right.\n%s", path, firstDifference(string(want), now))
	}
	return s.ran
}

// firstDifference returns the lines around the first difference.
func firstDifference(want, got string) string {
	wanted, gotten := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(wanted), len(gotten)) {
		if i >= len(wanted) || i >= len(gotten) || wanted[i] != gotten[i] {
			from := max(0, i-3)
			part := func(lines []string) string {
				return strings.Join(lines[min(from, len(lines)):min(i+12, len(lines))], "\n")
			}
			return fmt.Sprintf("--- want, line %d\n%s\n--- got\n%s", from+1, part(wanted), part(gotten))
		}
	}
	return ""
}

// startScriptNode starts a node on a new store, and stops it at the end of the test.
func startScriptNode(t *testing.T, name string) (owner string) {
	t.Helper()
	db, err := databaseOf(name)
	if err != nil {
		t.Fatal(err)
	}
	store, err := db.create(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	reg, err := fixtureRegistry()
	if err == nil {
		err = errors.Join(runtime.AddActivity(reg, PayBill), runtime.AddOrchestration(reg, Bill))
	}
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := newLogger(io.Discard, "error")
	if err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Name: "node", Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(rt.Shutdown(context.WithoutCancel(t.Context())), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return rt.Owner()
}

// PayBill fails, as if a bank were closed.
func PayBill(context.Context, int) (string, error) { return "", errors.New("the bank is closed") }

// Bill pays, which is tried again every hour.
func Bill(ctx *orchestration.Context, cents int) (string, error) {
	return orchestration.CallActivity(ctx, PayBill, cents, orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Hour}))
}

// commandsOf returns the paths of all commands that run something, without the name of the program.
func commandsOf(cmd *cobra.Command, path string) (all []string) {
	for _, sub := range cmd.Commands() {
		name := strings.TrimSpace(path + " " + sub.Name())
		if sub.HasSubCommands() {
			all = append(all, commandsOf(sub, name)...)
		}
		if !sub.HasSubCommands() && sub.Name() != "help" {
			all = append(all, name)
		}
	}
	return all
}
