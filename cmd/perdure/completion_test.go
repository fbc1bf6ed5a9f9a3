package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// completed returns what a shell is offered for the last word. It waits for the store as long as it takes, since a machine under load may not
// answer within completionTime.
func completed(t *testing.T, words ...string) []string {
	t.Helper()
	return completedWithin(t, time.Minute, words...)
}

func completedWithin(t *testing.T, patience time.Duration, words ...string) []string {
	t.Helper()
	var out, errs bytes.Buffer
	code := (&app{patience: patience}).run(t.Context(), append([]string{"__completeNoDesc"}, words...), strings.NewReader(""), &out, &errs)
	stdout, stderr := out.String(), errs.String()
	if code != exitOK {
		t.Fatalf("%q: exit code %d: %s", words, code, stderr)
	}
	offered, directive, _ := strings.Cut(stdout, ":")
	if !strings.HasPrefix(directive, "4") { // no files
		t.Errorf("%q: the directive is %q", words, directive)
	}
	return strings.Fields(offered)
}

func TestCompletion(t *testing.T) {
	path := fixture(t)
	t.Setenv(dbVariable, path)
	for _, c := range []struct {
		words []string
		has   []string
		not   string
	}{
		{[]string{"hist"}, []string{"history"}, "list"},
		{[]string{"dead-letters", ""}, []string{"list", "redrive", "drop"}, "history"},
		{[]string{"show", "family"}, []string{"family-1", "family-child"}, "greet-1"},
		{[]string{"raise", "idle"}, []string{"idle-1"}, "greet-1"},
		{[]string{"raise", "idle-1", ""}, nil, "idle-1"},
		{[]string{"list", "--status", ""}, []string{"running", "terminated"}, "ContinuedAsNew"},
		{[]string{"list", "--name", ""}, []string{"Panic", "Idle"}, "idle-1"},
		{[]string{"list", "--parent", "family-1"}, []string{"family-1"}, "greet-1"},
		{[]string{"history", "--kind", "Act"}, []string{"ActivityScheduled", "ActivityFailed"}, ""},
		{[]string{"list", "-o", ""}, []string{"table", "json", "jsonl"}, ""},
		{[]string{"start", "Pa"}, []string{"Panic"}, "Idle"},
		{[]string{"schedule", "create", "nightly", "Pa"}, []string{"Panic"}, "Idle"},
		{[]string{"schedule", "create", ""}, nil, "idle-1"},
		{[]string{"schedule", "pause", ""}, nil, "idle-1"}, // the ID of an instance is none of a schedule
		{[]string{"schedule", "create", "x", "Panic", "--overlap", ""}, []string{"buffer-one"}, ""},
		{[]string{"bulk", "start", ""}, []string{"cancel", "redrive"}, "idle-1"},
		{[]string{"help", "sched"}, []string{"schedule"}, "show"},
		{[]string{"help", "schedule", ""}, []string{"backfill"}, "schedule"},
	} {
		got := completed(t, c.words...)
		for _, word := range c.has {
			if !slices.Contains(got, word) {
				t.Errorf("%q offers %q, which must have %q", c.words, got, word)
			}
		}
		if c.not != "" && slices.Contains(got, c.not) {
			t.Errorf("%q offers %q", c.words, c.not)
		}
	}
}

// Bulk jobs are completed by their IDs, and dead letters by their numbers.
func TestJobsAndLettersAreCompleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letters.db")
	moveToDeadLetters(t, path)
	t.Setenv(dbVariable, path)
	for _, job := range []string{"clean-1", "clean-2", "other"} {
		if code, _, stderr := perdure(t, "", "bulk", "start", "cancel", "--name", "Idle", "--job", job, "--yes"); code != exitOK {
			t.Fatal(stderr)
		}
	}
	_, stdout, _ := perdure(t, "", "dead-letters", "list", "-o", "json")
	var listed deadLettersListed
	if err := json.Unmarshal([]byte(stdout), &listed); err != nil || len(listed.Letters) <= completionCount {
		t.Fatalf("%v: %s", err, stdout)
	}
	oldest, last := fmt.Sprint(listed.Letters[0].ID), fmt.Sprint(listed.Letters[completionCount-1].ID)
	for _, act := range []string{"show", "stop", "resume", "failures"} {
		got := completed(t, "bulk", act, "clean")
		if slices.Sort(got); !slices.Equal(got, []string{"clean-1", "clean-2"}) {
			t.Errorf("bulk %s: jobs are completed to %q", act, got)
		}
	}
	for _, act := range []string{"redrive", "drop"} {
		if got := completed(t, "dead-letters", act, ""); len(got) != completionCount || got[0] != oldest || got[completionCount-1] != last {
			t.Errorf("dead-letters %s: letters are completed to %q", act, got)
		}
		if got := completed(t, "dead-letters", act, last); !slices.Contains(got, last) || slices.Contains(got, oldest) {
			t.Errorf("dead-letters %s: letters that begin with %s are completed to %q", act, last, got)
		}
	}
}

// Without a store, completion offers nothing, prints no error and does not hang.
func TestCompletionWithoutStore(t *testing.T) {
	began := time.Now()
	for _, db := range []string{"", t.TempDir() + "/missing.db", "postgres://nobody@192.0.2.1:1/x"} {
		t.Setenv(dbVariable, db)
		if got := completedWithin(t, 0, "show", ""); len(got) > 0 {
			t.Errorf("%q: offers %q", db, got)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("completion took %v", took)
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, stdout, stderr := perdure(t, "", "completion", shell); code != exitOK || !strings.Contains(stdout, "__complete") {
			t.Errorf("%s: exit code %d: %s", shell, code, stderr)
		}
	}
}
