package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// groupsOf returns the paths of the commands that have commands below them.
func groupsOf(cmd *cobra.Command, path string) (all []string) {
	for _, sub := range cmd.Commands() {
		name := strings.TrimSpace(path + " " + sub.Name())
		if sub.HasSubCommands() {
			all = append(append(all, name), groupsOf(sub, name)...)
		}
	}
	return all
}

// A command of several shows what there is when it is called alone, and prints how it is used if it does not know the database.
func TestGroupsAloneShowWhatThereIs(t *testing.T) {
	path := fixture(t)
	t.Setenv(dbVariable, "")
	for _, group := range groupsOf(newRoot(&app{}), "") {
		if group == "completion" {
			continue
		}
		code, help, stderr := perdure(t, "", group)
		if code != exitOK || !strings.Contains(help, "Available Commands:") {
			t.Errorf("%s: exit code %d: %s%s", group, code, help, stderr)
		}
		code, stdout, stderr := perdure(t, "", group, "--db", path)
		if code != exitOK || stdout == "" {
			t.Errorf("%s: exit code %d: %s%s", group, code, stdout, stderr)
		}
		shows := ""
		for _, name := range []string{"list", "show", "status"} {
			if strings.Contains(help, "'perdure "+group+" "+name+"'") {
				shows = name
			}
		}
		if shows == "" {
			if group != "activity" {
				t.Errorf("the help of %s does not say what it does alone:\n%s", group, help)
			}
			continue
		}
		if _, want, _ := perdure(t, "", group, shows, "--db", path); steady(want) != steady(stdout) {
			t.Errorf("%s prints\n%s, and %s prints\n%s", group, stdout, shows, want)
		}
	}
	if code, _, stderr := perdure(t, "", "dead-letters", "--instance", "x", "--db", path); code != exitUsage || !strings.Contains(stderr, "--instance") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestMistypedCommandsAreRecognized(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"lst":                  `unknown command "lst" for 'perdure': did you mean 'perdure list'?`,
		"ls":                   "did you mean 'perdure list'?",
		"lsit":                 "did you mean 'perdure list'?",
		"shwo order-1":         "did you mean 'perdure describe'?",
		"hist":                 "did you mean 'perdure history'?",
		"schedule udpate":      `unknown command "udpate" for 'perdure schedule': did you mean 'perdure schedule update'?`,
		"dead-letters redrvie": "did you mean 'perdure dead-letter redrive'?",
		"help lst":             `unknown command "lst": did you mean 'perdure list'?`,
		"help schedule udpate": "did you mean 'perdure schedule update'?",
	} {
		code, stdout, stderr := perdure(t, "", strings.Fields(line)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, says) {
			t.Errorf("%s: exit code %d, %q: want %q", line, code, stderr, says)
		}
	}
	for _, line := range []string{"frobnicate", "x", "bulk zzz", "help frobnicate", "activity 7"} {
		code, _, stderr := perdure(t, "", strings.Fields(line)...)
		if code != exitUsage || strings.Contains(stderr, "did you mean") || !strings.Contains(stderr, "unknown command") {
			t.Errorf("%s: exit code %d, %q", line, code, stderr)
		}
	}
}
