package doors_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pages of errors")

// A page has the doors of one part of the module.
type page struct {
	file, title, intro string
	sections           []section
}

// pages returns the pages of doors in the order of the reference.
func pages() []page {
	return []page{
		{
			"errors-client.md", "client", "calls of package client by which a service starts, reaches and reads instances",
			[]section{
				makingClients(), startingInstances(), steeringInstances(), acting(), endingActivities(), readingInstances(), listingInstances(), followingInstances(),
			},
		},
		{
			"errors-operate.md", "operating a store", "calls by which a fleet is operated: orders to nodes, files of instances, schedules, bulk jobs, retention",
			[]section{ordering(), moving(), makingSchedules(), startingBulk(), settingRetention()},
		},
		{"errors-runtime.md", "runtime", "the registry and the options of a node", []section{fillingRegistries(), startingRuntimes()}},
		{
			"errors-code.md", "orchestrations and activities", "calls that code of orchestrations and activities makes",
			[]section{callingActivities(), callingLocals(), callingChildren(), reachingInOrchestrations(), waitingInOrchestrations(), togetherInOrchestrations(), usingActivities()},
		},
		{"errors-sqlite.md", "SQLite files", "opening and restoring a file", []section{openingFiles(), restoring()}},
		{"errors-command-line.md", "command line", "what the command prints", []section{typingCommands()}},
		{"errors-dashboard.md", "dashboard", "making a dashboard, and its HTTP API", []section{makingDashboards(), askingDashboards()}},
	}
}

// head returns the text above the tables of a page.
func (p page) head() string {
	return fmt.Sprintf("# Errors: %s\n\nThis page has %s. [Errors](errors.md) says what each error means and what to do. "+
		"`go test ./internal/test/doors -update` writes this page\nfrom the tables that the tests run.\n\n%s", p.title, p.intro, legend)
}

// index returns the list of pages for the page of all errors.
func index() string {
	var list strings.Builder
	list.WriteString("\n## Doors\n\nWhat each door does with bad input, with the literal text of the error:\n\n")
	for _, p := range pages() {
		fmt.Fprintf(&list, "- [%s](%s): %s\n", strings.ToUpper(p.title[:1])+p.title[1:], p.file, p.intro)
	}
	return list.String()
}

const introduction = `# Errors

This page lists what each error means. ` + "`go test ./internal/test/doors -update`" + ` writes it, and the pages of [doors](#doors), from the tables that the tests run. So
each text is what a call really returns.

Compare errors with ` + "`errors.Is` and `errors.As`, never by their text. A refused call has stored nothing unless the table says otherwise" + `.

Three rules cover every error of a call that stores something:

- A named error in the tables below means that nothing happened. The same call returns the same error again, unless the table says otherwise.
- ` + "`client.ErrOutcomeUnknown`" + ` means that the call may have succeeded. Repeat it with the same IDs to find out; nothing is stored twice.
- A ` + "`*provider.Error`" + ` is a failure of the storage itself, such as a full disk or a lost connection. The client has already retried the call for up to ` + "`CallTimeout`" + `. Repair the
  storage; the engine recovers by itself.

Some errors have types for ` + "`errors.As`: `*client.ExistsError` (the instance that holds the ID), `*client.BlockedError` (why, since when, next try), `*orchestration.Error` (message, type," + `
details and causes of a stored error), ` + "`*provider.Error`" + ` (the call, its known effect, whether a repeat may help).
The [exit codes](command-line.md#exit-codes) of the command line follow from these errors.

Each error has a code that never changes. ` + "`client.Code`" + ` returns it, problems of the [HTTP API](errors-dashboard.md) have it as ` + "`code`" + `, and so do errors of the
[command line](command-line.md#exit-codes) with ` + "`-o json`" + `. A history has it as the code of a failure. An error that wraps several of these errors has the code of the outermost one.
A ` + "`*provider.Error`" + ` has the code ` + "`storage`" + ` unless it wraps one of these errors, and ` + "`errors.ErrUnsupported`" + ` has ` + "`unsupported`" + `. No metric has an error as a label.
`

// legend explains the tables of a page.
const legend = `Each door has one table: the input, the literal error, and the sentinel for ` + "`errors.Is`" + `. KEY stands for the key of an instance, SYMBOL for the symbol of a Go
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
	fmt.Fprintf(page, "\n## %s\n\n%s\n\n| input | error | is | what to do |\n| --- | --- | --- | --- |\n", s.title, s.intro)
	for _, r := range rows {
		is := r.is.name
		if strings.Contains(is, ".") {
			is = code(is)
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s |\n", cell(r.input), code(r.want), is, r.do)
	}
}

// checkPage compares a page with the stored file, or updates the file.
func checkPage(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "docs", "reference", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(stored), "\r\n", "\n") != text {
		t.Errorf("%s is not what the tables say: run go test ./internal/test/doors -update", path)
	}
}
