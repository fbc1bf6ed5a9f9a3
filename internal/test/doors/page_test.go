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
		makingClients(), startingInstances(), steeringInstances(), endingActivities(), readingInstances(), listingInstances(),
		fillingRegistries(), startingRuntimes(),
		callingActivities(), callingLocals(), callingChildren(), waitingInOrchestrations(), usingActivities(),
		openingFiles(), typingCommands(),
	}
}

const introduction = `# Errors

What each error means, and what every door does with bad input. This page is made by ` + "`go test ./internal/test/doors -update`" + ` of the tables that the tests run:
each text below is what a call really answers.

Compare errors with ` + "`errors.Is` and `errors.As`, never by their text. Where nothing else is said, a refused call has stored nothing" + `.

Three rules tell what to do about any error of a call that stores something:

- An error of the tables below that has a name means: nothing happened. Repeating the same call gives the same answer, unless the table says otherwise.
- ` + "`client.ErrOutcomeUnknown`" + ` means: it may have happened. Repeat the call with the same IDs to find out; nothing is stored twice.
- A ` + "`*provider.Error`" + ` is a failure of the storage itself: a full disk, a lost connection. The client has repeated the call already, up to ` + "`CallTimeout`" + `. Mend the storage;
  the engine goes on by itself.

Types tell more, by ` + "`errors.As`: `*client.ExistsError` (which instance holds the ID), `*client.BlockedError` (why, since when, next try), `*orchestration.Error` (message, type," + `
details and causes of an error that was stored), ` + "`*provider.Error`" + ` (the call, what is known about its effect, whether a repeat may help).
The [exit codes](command-line.md) of the command line follow from these errors.
`

const doorsIntroduction = `
## Doors

One table for each door: the input, the error to the letter, and what it is for ` + "`errors.Is`" + `. KEY stands for the key of an instance, SYMBOL for the symbol of a Go
function. A row with "panic" shows the text that the call panics with; in the code of an orchestration that blocks the instance, in that of an activity it is a failed attempt.
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
