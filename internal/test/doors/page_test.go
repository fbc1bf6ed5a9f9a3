package doors_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/reference/errors.md")

// sections returns the doors in the order of the page.
func sections() []section {
	return []section{
		makingClients(), startingInstances(), steeringInstances(), acting(), moving(), makingSchedules(), startingBulk(), settingRetention(), endingActivities(), readingInstances(), listingInstances(), followingInstances(),
		fillingRegistries(), startingRuntimes(),
		callingActivities(), callingLocals(), callingChildren(), reachingInOrchestrations(), waitingInOrchestrations(), usingActivities(),
		openingFiles(), restoring(), typingCommands(), makingDashboards(), askingDashboards(),
	}
}

const introduction = `# Errors

This page lists what each error means, and what every door does with bad input. ` + "`go test ./internal/test/doors -update`" + ` writes it from the tables that the
tests run, so each text below is what a call really returns.

Compare errors with ` + "`errors.Is` and `errors.As`, never by their text. A refused call has stored nothing unless the table says otherwise" + `.

Three rules cover every error of a call that stores something:

- A named error in the tables below means that nothing happened. The same call returns the same error again, unless the table says otherwise.
- ` + "`client.ErrOutcomeUnknown`" + ` means that the call may have succeeded. Repeat it with the same IDs to find out; nothing is stored twice.
- A ` + "`*provider.Error`" + ` is a failure of the storage itself, such as a full disk or a lost connection. The client has already retried the call for up to ` + "`CallTimeout`" + `. Repair the
  storage; the engine recovers by itself.

Some errors have types for ` + "`errors.As`: `*client.ExistsError` (the instance that holds the ID), `*client.BlockedError` (why, since when, next try), `*orchestration.Error` (message, type," + `
details and causes of a stored error), ` + "`*provider.Error`" + ` (the call, its known effect, whether a repeat may help).
The [exit codes](command-line.md) of the command line follow from these errors.
`

const doorsIntroduction = `
## Doors

Each door has one table: the input, the literal error, and the sentinel for ` + "`errors.Is`" + `. KEY stands for the key of an instance, SYMBOL for the symbol of a Go
function. A row with "panic" shows the text of the panic. A panic in orchestration code blocks the instance, and a panic in an activity is a failed attempt.
`

// cell escapes a text for a table in Markdown.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// code formats a text as code, unchanged.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		text = " " + text + " "
	}
	return fence + cell(text) + fence
}

func (s section) write(page *strings.Builder, rows []row) {
	fmt.Fprintf(page, "\n### %s\n\n%s\n\n| input | error | is | what to do |\n| --- | --- | --- | --- |\n", s.title, s.intro)
	for _, r := range rows {
		is := r.is.name
		if strings.Contains(is, ".") {
			is = code(is)
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s |\n", cell(r.input), code(r.want), is, r.do)
	}
}

// checkPage compares the page with the stored file, or updates the file.
func checkPage(t *testing.T, page string) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "docs", "reference", "errors.md")
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(stored), "\r\n", "\n") != page {
		t.Errorf("%s is not what the tables say: run go test ./internal/test/doors -update", path)
	}
}
