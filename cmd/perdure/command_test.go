package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

var update = flag.Bool("update", false, "write the golden files")

// perdure runs a command line in this process.
func perdure(t *testing.T, stdin string, args ...string) (code exitCode, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// Parts of the output that differ from run to run. JSON cuts trailing zeros of a time, so the fraction is removed.
var (
	anyTime  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	anyKey   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	anyLag   = regexp.MustCompile(`\+\d\.\d{3}s`)
	anySize  = regexp.MustCompile(`\d+ bytes|"(historyBytes|tookNanos)": \d+`)
	anyLevel = regexp.MustCompile(`level \d+|"(level|binary|before)": \d+|\(devel\) +\d+`)
	digits   = regexp.MustCompile(`\d+`)
)

func steady(text string) string {
	text = anyTime.ReplaceAllString(text, "2026-01-02T03:04:05Z")
	text = anyKey.ReplaceAllString(text, "01234567-0123-0123-0123-0123456789ab")
	text = anyLag.ReplaceAllString(text, "+0.000s")
	for _, figure := range []*regexp.Regexp{anySize, anyLevel} {
		text = figure.ReplaceAllStringFunc(text, func(s string) string { return digits.ReplaceAllString(s, "N") })
	}
	return text
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("output differs from %s; run the test with -update if it is right.\n--- got\n%s\n--- want\n%s", path, got, want)
	}
}

// Command lines that print the same on every kind of database. DB is replaced by the database.
var commandLines = []struct{ name, line string }{
	{"list", "list --db DB"},
	{"list-json", "list --db DB -o json --name Greet"},
	{"list-jsonl", "list --db DB -o jsonl --name Greet"},
	{"list-filtered", "list --db DB --status failed,running --limit 3"},
	{"list-attribute", "list --db DB --attribute letters:int=3 --limit 1"},
	{"list-blocked", "list --db DB --blocked"},
	{"list-children", "list --db DB --parent family-1 --ended-after 2026-01-02"},
	{"list-prefix", "list --db DB --prefix fam --version= --created-after 24h --created-before 2100-01-01"},
	{"count", "count --db DB --status completed,failed"},
	{"count-json", "count --db DB --up-to 2 -o json"},
	{"count-all", "count --db DB --up-to 0 --blocked"},
	{"tree", "tree family-1 --db DB"},
	{"tree-cut", "tree family-1 --limit 1 --db DB"},
	{"tree-json", "tree family-1 --depth 1 --db DB -o json"},
	{"tree-children", "tree family-1 --children --db DB"},
	{"tree-children-json", "tree family-1 --children --db DB -o json"},
	{"result", "result greet-1 --db DB"},
	{"result-json", "result greet-1 --wait --timeout 1m --db DB -o json"},
	{"show-blocked", "show panic-1 --db DB"},
	{"show-idle", "show idle-1 --db DB"},
	{"show-follow", "show greet-1 --follow --db DB"},
	{"history-last", "history family-1 --last 3 --db DB"},
	{"history-kind", "history family-1 --kind TimerFired,ChildCompleted --db DB"},
	{"history-range", "history family-1 --from 3 --to 4 --db DB"},
	{"history-failed", "history break-1 --failed --db DB"},
	{"history-compact", "history family-1 --compact --db DB"},
	{"history-compact-json", "history greet-1 --compact --db DB -o json"},
	{"history-follow", "history family-1 --follow --from 4 --db DB"},
	{"history-across", "history count-1 --follow --execution 1 --across --db DB"},
	{"list-search", "list status:completed,running --name Greet --db DB"},
	{"list-search-json", "list id:family-c* --db DB -o json"},
	{"count-search", "count @letters:1..9 --db DB"},
	{"list-none", "list --db DB --name Nothing"},
	{"list-none-json", "list --db DB --name Nothing -o json"},
	{"show", "show greet-1 --db DB"},
	{"show-json", "show greet-1 --db DB -o json"},
	{"show-failed", "show break-1 --db DB"},
	{"show-child", "show family-child --db DB"},
	{"history", "history greet-1 --db DB"},
	{"history-json", "history greet-1 --db DB -o json"},
	{"history-family", "history family-1 --db DB"},
	{"history-first", "history count-1 --execution 1 --db DB"},
	{"history-empty", "history idle-1 --db DB"},
	{"start", "start Greet --id new-1 --input \"ann\" --db DB"},
	{"start-json", "start Greet --db DB -o json"},
	{"raise", "raise idle-1 word {\"by\":1} --db DB"},
	{"raise-json", "raise idle-1 word --db DB -o json"},
	{"cancel", "cancel idle-1 --reason enough --db DB"},
	{"cancel-json", "cancel idle-1 --db DB -o json"},
	{"terminate", "terminate idle-1 --reason enough --db DB"},
	{"terminate-json", "terminate idle-1 --reason enough --db DB -o json"},
	{"delete", "delete greet-1 --yes --db DB"},
	{"delete-json", "delete idle-1 --force --yes --db DB -o json"},
	{"prune", "prune --older-than 0s --young --status completed --yes --db DB"},
	{"prune-json", "prune --older-than 24h --yes --db DB -o json"},
	{"prune-preview", "prune --older-than 0s --young --status completed --preview --db DB"},
	{"prune-preview-json", "prune --older-than 0s --young --preview --db DB -o json"},
	{"trim-preview", "trim --older-than 0s --preview --db DB"},
	{"trim", "trim --older-than 0s --yes --db DB"},
	{"trim-json", "trim --keep 3 --yes --db DB -o json"},
	{"retention-off", "retention show --db DB"},
	{"prune-preview-limit", "prune --older-than 0s --young --limit 2 --preview --db DB"},
	{"retention-preview", "retention preview --rule Greet=168h --rule :failed=forever --rule 720h --trim 48h --audit 720h --db DB"},
	{"retention-preview-off", "retention preview --db DB"},
	{"retention-set", "retention set --rule Greet=168h --rule :failed=forever --rule 720h --trim 48h --audit 720h --yes --db DB"},
	{"retention-preview-json", "retention preview --db DB -o json"},
	{"retention-off-json", "retention show --db DB -o json"},
	{"bulk-preview", "bulk preview --name Greet --db DB"},
	{"bulk-start", "bulk start terminate --name Idle --job j --reason old --rate 5 --yes --db DB"},
	{"bulk-start-json", "bulk start raise --event go --payload 7 --name Idle --job j --yes --db DB -o json"},
	{"bulk-none", "bulk start cancel --name Nothing --db DB"},
	{"bulk-none-json", "bulk start cancel --name Nothing --db DB -o json"},
	{"bulk-list", "bulk list --db DB"},
	{"unblock", "unblock panic-1 --db DB"},
	{"doctor", "doctor --db DB"},
	{"doctor-json", "doctor --quiet --db DB -o json"},
	{"migrate-status", "migrate status --db DB"},
	{"migrate-up-json", "migrate up --db DB -o json"},
	{"upgrade-status-json", "upgrade status --db DB -o json"},
	{"upgrade-finish", "upgrade --finish --db DB"},
	{"upgrade-finish-json", "upgrade --finish --db DB -o json"},
	{"help-upgrade", "upgrade --help"},
	{"help", "help"},
	{"help-exit-codes", "help exit-codes"},
	{"help-demo", "demo --help"},
	{"help-migrate-print", "help migrate print"},
	{"exit-codes", "exit-codes"},
	{"exit-codes-json", "exit-codes -o json"},
	{"grants-json", "migrate grants app --db postgres://me@host/app -o json"},
}

// Each command prints its golden output.
func TestCommands(t *testing.T) {
	for _, c := range commandLines {
		t.Run(c.name, func(t *testing.T) { checkCommand(t, c.name, c.line, fixture(t)) })
	}
}

func checkCommand(t *testing.T, name, line, db string) {
	t.Helper()
	code, stdout, stderr := perdure(t, "", strings.Fields(strings.ReplaceAll(line, "DB", db))...)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	checkGolden(t, name, steady(stdout))
}

// Each mistake gets the exit code of its kind, and an error that says where it is and how to fix it.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.json")
	text := filepath.Join(dir, "text.db")
	empty := filepath.Join(dir, "empty.db")
	for path, data := range map[string]string{
		large: `"` + strings.Repeat("x", 3<<20) + `"`, text: strings.Repeat("this is no database\n", 100), empty: "",
	} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	newer := alter(t, fixture(t), "UPDATE perdure_schema SET version = 99, oldest = 99 WHERE version = 2")
	foreign := alter(t, filepath.Join(dir, "foreign.db"), "CREATE TABLE customer (name TEXT)")
	paths := strings.NewReplacer("DB", fixture(t), "LARGE", large, "TEXT", text, "EMPTY", empty, "NEWER", newer,
		"FOREIGN", foreign, "MISSING", filepath.Join(dir, "missing.db"), "DIR", dir)
	for _, c := range []struct {
		line string
		code exitCode
		says []string
	}{
		{"prune --older-than 0s --young --db DB", exitUsage, []string{"add --yes", "delete 5 instances"}},
		{"prune --older-than 0s --young --limit 2 --db DB", exitUsage, []string{"add --yes", "delete about 2 at most, of 5 instances that"}},
		{"trim --db DB", exitUsage, []string{"add --yes", "delete 0 executions that"}},
		{"prune --older-than 0s --young --limit -1 --db DB", exitUsage, []string{"limit -1: give 1 or more"}},
		{"retention set --rule 720h --trim 48h --db DB", exitUsage, []string{"add --yes", "for good: now 0 instances, 0 old executions and 0 audit records"}},
		{"retention preview --rule Order:Gone=48h --db DB", exitUsage, []string{`flag --rule: rule for "Order:Gone" has no status behind the colon: give Completed`}},
		{"retention preview --keep 3 --db DB", exitUsage, []string{"there are no rules", "none of the flags"}},
		{"retention preview --rule 720h --keep 3 --db DB", exitUsage, []string{"--keep is for --trim"}},
		{"prune --older-than 1h --db DB", exitUsage, []string{"--older-than is 1h", "--young"}},
		{"delete idle-1 --yes --db DB", exitConflict, []string{"idle-1", "add --force"}},
		{"bulk start cancel --name Idle --db DB", exitUsage, []string{"add --yes to cancel 1 instance\n"}},
		{"bulk start cancel --name Greet --max 1 --db DB", exitUsage, []string{"add --yes to cancel 1 instance of those that match (2 instances match)\n"}},
		{"bulk start raise --name Greet --db DB", exitUsage, []string{"event name is empty"}},
		{"bulk start cancel --name Greet --rate -1 --db DB", exitUsage, []string{"rate -1"}},
		{"bulk start cancel --all-texts --name Greet --db DB", exitUsage, []string{"--text and --all-texts are for a group", "--failure-group"}},
		{"bulk start cancel --text any --db DB", exitUsage, []string{"--text and --all-texts are for a group", "--failure-group"}},
		{"bulk start cancel --failure-group 1-479f76b1c92dd385630e --db DB", exitUsage, []string{"give --text or --all-texts"}},
		{"bulk start cancel group:1-479f76b1c92dd385630e --db DB", exitUsage, []string{"give --text or --all-texts"}},
		{"bulk start cancel --failure-group 1-479f76b1c92dd385630e --text any --db DB", exitUsage, []string{`no instance that matches failed with the text "any"`}},
		{`bulk start cancel --failure-group 1-479f76b1c92dd385630e --text "any --db DB`, exitUsage, []string{"--text", "double quote"}},
		{"bulk start cancel name:Greet --db DB", exitUsage, []string{"add --yes to cancel 2 instances\n"}},
		{"bulk start cancel name:Greet --name Idle --db DB", exitUsage, []string{"name: is set by the search and beside it"}},
		{"bulk start cancel is:blockd --db DB", exitUsage, []string{"search, column"}},
		{"bulk preview nonsense:1", exitUsage, []string{"search, column 1"}},
		{"reset greet-1 --to nonsense --db DB", exitUsage, []string{"--to", "first-failure"}},
		{"reset greet-1 --to time=never --db DB", exitUsage, []string{"--to"}},
		{"reset greet-1 --at 1 --to first-failure --db DB", exitUsage, []string{"--at and --to"}},
		{"reset greet-1 --at 1 --preview --db DB", exitUsage, []string{"--preview is for --to"}},
		{"lst", exitUsage, []string{`unknown command "lst"`, "perdure help"}},
		{"list --nothing", exitUsage, []string{"unknown flag: --nothing"}},
		{"list extra --db DB", exitUsage, []string{"search, column 1", "extra", "id:extra"}},
		{"list statsu:failed", exitUsage, []string{"column 1", "write status:"}},
		{"list name:Greet --name Idle --db DB", exitUsage, []string{"name: is set by the search and beside it"}},
		{"count started:5 --db DB", exitUsage, []string{"column 9", "no time"}},
		{"list name:Greet --cursor nonsense --db DB", exitUsage, []string{"page cursor"}},
		{"show --db DB", exitUsage, []string{"argument ID is missing", "perdure describe ID"}},
		{"list --db DB -o xml", exitUsage, []string{`"xml"`, "table, json or jsonl"}},
		{"list --db DB --log-level loud", exitUsage, []string{`"loud"`, "debug, info, warn or error"}},
		{"list", exitUsage, []string{"--db", "PERDURE_DB"}},
		{"list --db DB --limit 0", exitUsage, []string{"--limit is 0"}},
		{"list --db DB --cursor nonsense", exitUsage, []string{"page cursor", "nonsense"}},
		{"list --db DB --ended-after yesterday", exitUsage, []string{"--ended-after is \"yesterday\"", "24h"}},
		{"list --db DB --created-before=", exitUsage, []string{"--created-before is \"\"", "a day such as"}},
		{"list --db DB --parent nobody", exitNotFound, []string{"nobody"}},
		{"list --db DB --parent-key family-1", exitUsage, []string{"--parent-key is \"family-1\"", "key"}},
		{"list --db DB --parent a --parent-key b", exitUsage, []string{"give one of them"}},
		{"list --db DB --prefix=", exitUsage, []string{"--prefix is empty"}},
		{"count --db DB --up-to -1", exitUsage, []string{"--up-to is -1"}},
		{"count --db DB --status ended", exitUsage, []string{"\"ended\""}},
		{"tree nobody --db DB", exitNotFound, []string{"nobody"}},
		{"tree family-1 --depth 0 --db DB", exitUsage, []string{"--depth is 0"}},
		{"tree family-1 --limit 0 --db DB", exitUsage, []string{"--limit is 0"}},
		{"tree family-1 --limit 10001 --db DB", exitUsage, []string{"size 10001", "10000"}},
		{"tree family-1 --children --limit 1001 --db DB", exitUsage, []string{"--limit is 1001", "at most 1000"}},
		{"tree family-1 --children --depth 2 --db DB", exitUsage, []string{"--depth with --children"}},
		{"tree family-1 --children --cursor x --db DB", exitUsage, []string{"page cursor", "\"x\""}},
		{"tree family-1 --cursor x --db DB", exitUsage, []string{"--cursor without --children"}},
		{"timeline nobody --db DB", exitNotFound, []string{"nobody"}},
		{"timeline family-1 --execution 7 --db DB", exitNotFound, []string{"execution 7"}},
		{"timeline family-1 --execution 0 --db DB", exitUsage, []string{"--execution is 0"}},
		{"timeline family-1 --events 1 --db DB", exitUsage, []string{"--events is 1"}},
		{"timeline family-1 --rows 9 --db DB", exitUsage, []string{"--rows is 9"}},
		{"timeline family-1 --width 29 --db DB", exitUsage, []string{"--width is 29"}},
		{"result nobody --db DB", exitNotFound, []string{"nobody"}},
		{"result idle-1 --db DB", exitConflict, []string{"idle-1", "has not ended", "Running"}},
		{"result break-1 --db DB", exitFailure, []string{"break-1", "broken on purpose"}},
		{"result idle-1 --timeout 1s --db DB", exitUsage, []string{"--timeout without --wait"}},
		{"result idle-1 --wait --timeout 10ms --db DB", exitStore, []string{"idle-1", "deadline"}},
		{"result idle-1 --wait --timeout -1s --db DB", exitUsage, []string{"--timeout is -1s"}},
		{"show greet-1 --key --db DB", exitUsage, []string{"\"greet-1\"", "key"}},
		{"show 01a20e11-e2a6-8398-bdfa-955c1e2eeb7b --key --db DB", exitNotFound, []string{"01a20e11-e2a6-8398-bdfa-955c1e2eeb7b"}},
		{"show greet-1 --follow -o json --db DB", exitUsage, []string{"-o jsonl"}},
		{"history greet-1 --follow -o json --db DB", exitUsage, []string{"-o jsonl"}},
		{"history greet-1 --last 0 --db DB", exitUsage, []string{"--last is 0"}},
		{"history greet-1 --from 0 --db DB", exitUsage, []string{"--from is 0"}},
		{"history greet-1 --from 3 --to 2 --db DB", exitUsage, []string{"events 3 to 2"}},
		{"history greet-1 --kind Sleeping --db DB", exitUsage, []string{"\"Sleeping\"", "ActivityFailed"}},
		{"history greet-1 --kind= --db DB", exitUsage, []string{"--kind is empty"}},
		{"history greet-1 --across --db DB", exitUsage, []string{"--across without --follow"}},
		{"history greet-1 --follow --last 3 --db DB", exitUsage, []string{"--follow with --last"}},
		{"history greet-1 --export x --compact --db DB", exitUsage, []string{"--export writes the whole history"}},
		{"list --db DB --status ended", exitUsage, []string{`"ended"`, "running"}},
		{"history greet-1 --execution -1 --db DB", exitUsage, []string{"execution -1"}},
		{"history greet-1 --execution 9 --db DB", exitNotFound, []string{"greet-1", "execution 9"}},
		{"start Greet --input {oops --db DB", exitUsage, []string{"input is not valid JSON at byte 2", "quotes"}},
		{"start Greet --input @MISSING --db DB", exitUsage, []string{"reading input", "missing.db"}},
		{"start Greet --input @LARGE --db DB", exitUsage, []string{"3145730 bytes", "2097152"}},
		{"start Greet --id greet-1 --db DB", exitConflict, []string{`"greet-1" already exists`, "Completed", "--id"}},
		{"start Greet --id= --db DB", exitUsage, []string{"instance ID is empty"}},
		{"start Greet --db MISSING", exitStore, []string{"missing.db", "no such file"}},
		{"raise idle-1 word no --db DB", exitUsage, []string{"payload is not valid JSON"}},
		{"raise idle-1 word @LARGE --db DB", exitUsage, []string{"idle-1", "3145730 bytes"}},
		{"raise nobody word --db DB", exitNotFound, []string{"nobody", "not found", "check the ID"}},
		{"raise greet-1 word --db DB", exitConflict, []string{"greet-1", "ended (Completed)"}},
		{"cancel nobody --db DB", exitNotFound, []string{"nobody"}},
		{"cancel greet-1 --db DB", exitConflict, []string{"greet-1", "ended"}},
		{"terminate nobody --db DB", exitNotFound, []string{"nobody"}},
		{"unblock nobody --db DB", exitNotFound, []string{"nobody"}},
		{"unblock break-1 --db DB", exitConflict, []string{"break-1", "ended (Failed)"}},
		{"terminate break-1 --db DB", exitConflict, []string{"break-1", "ended (Failed)"}},
		{"show nobody --db DB", exitNotFound, []string{"nobody"}},
		{"history nobody --db DB", exitNotFound, []string{"nobody"}},
		{"doctor extra --db DB", exitUsage, []string{"extra"}},
		{"doctor", exitUsage, []string{"--db", "PERDURE_DB"}},
		{"doctor --db MISSING", exitStore, []string{"missing.db", "no such file", "migrate up"}},
		{"doctor --db DIR", exitStore, []string{"directory"}},
		{"doctor --db TEXT", exitStore, []string{"text.db", "not a SQLite database", "give another path"}},
		{"doctor --db EMPTY", exitStore, []string{"not a perdure store", "migrate up"}},
		{"doctor --db FOREIGN", exitStore, []string{"not a perdure store", "migrate up"}},
		{"doctor --db NEWER", exitStore, []string{"newer schema", "99", "upgrade"}},
		{"list --db MISSING", exitStore, []string{"missing.db", "no such file", "PERDURE_DB", "migrate up"}},
		{"list --db DIR", exitStore, []string{"directory"}},
		{"list --db TEXT", exitStore, []string{"text.db", "not a SQLite database"}},
		{"list --db EMPTY", exitStore, []string{"not a perdure store", "migrate up"}},
		{"list --db FOREIGN", exitStore, []string{"not a perdure store", "migrate up"}},
		{"list --db NEWER", exitStore, []string{"newer schema", "99", "upgrade"}},
		{"migrate status --db MISSING", exitStore, []string{"no such file"}},
		{"migrate status --db TEXT", exitStore, []string{"not a SQLite database"}},
		{"migrate up --db NEWER", exitStore, []string{"newer schema"}},
		{"migrate up --db DIR/none/x.db", exitStore, []string{"directory must exist"}},
		{"migrate sideways", exitUsage, []string{"sideways"}},
		{"demo --order @MISSING", exitUsage, []string{"reading order"}},
		{"demo --order {\"id\":7}", exitUsage, []string{"--order", "id: is a JSON number"}},
		{"demo --lease 1ms", exitUsage, []string{"--lease is 1ms", "500ms"}},
		{"demo -o json", exitUsage, []string{"text only"}},
		{"demo --db TEXT", exitStore, []string{"not a SQLite database"}},
		{"help frob", exitUsage, []string{`unknown command "frob"`, "perdure help"}},
		{"help migrate frob", exitUsage, []string{`unknown command "migrate frob"`, "perdure help"}},
		{"list --db DB --status=", exitUsage, []string{"--status is empty", "leave the flag out"}},
		{"list --db DB --name=", exitUsage, []string{"--name is empty", "leave the flag out"}},
		{"drop-message idle-1 one --db DB", exitUsage, []string{`"one" is not the number of a message`}},
		{"drop-message idle-1 0 --db DB", exitUsage, []string{"begin with 1"}},
		{"drop-message idle-1 9 --db DB", exitNotFound, []string{"message 9", "does not wait"}},
		{"drop-message panic-1 1 --db DB", exitUsage, []string{"the message is the start", "terminate"}},
		{"drop-message break-1 1 --db DB", exitConflict, []string{"break-1", "ended (Failed)"}},
		{"unblock idle-1 --db DB", exitConflict, []string{"idle-1", "not blocked"}},
		{"demo --db DB", exitUsage, []string{"fixture.db", "was not made by the demo", "another database"}},
		{"demo --db FOREIGN", exitUsage, []string{"foreign.db", "was not made by the demo", "another database"}},
		{"upgrade --force --db DB", exitUsage, []string{"--force", "--finish"}},
		{"upgrade finish --db DB", exitUsage, []string{"finish"}},
		{"upgrade status --db MISSING", exitStore, []string{"missing.db", "no such file"}},
		{"worker --db DB", exitUsage, []string{`unknown command "worker"`}},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Setenv(dbVariable, "")
			code, stdout, stderr := perdure(t, "", strings.Fields(paths.Replace(c.line))...)
			if code != c.code {
				t.Errorf("exit code %d, must be %d", code, c.code)
			}
			if stdout != "" {
				t.Errorf("standard output must be empty: %s", stdout)
			}
			for _, part := range c.says {
				if !strings.Contains(stderr, part) {
					t.Errorf("the error must say %q: %s", part, stderr)
				}
			}
			begin := "perdure: "
			if strings.Contains(c.line, "-o json") {
				begin = `{"error":`
			}
			if !strings.HasPrefix(stderr, begin) {
				t.Errorf("the error must begin with %s: %s", begin, stderr)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "missing.db")); err == nil {
		t.Error("a command that only reads created a database")
	}
	// Refused input leaves nothing in the store.
	_, stdout, _ := perdure(t, "", "show", "idle-1", "-o", "json", "--db", paths.Replace("DB"))
	var idle client.Description
	if err := json.Unmarshal([]byte(stdout), &idle); err != nil || idle.InboxMessages != 1 {
		t.Errorf("idle-1 has %d messages, must have its start message only (%v)", idle.InboxMessages, err)
	}
}

func TestInputFromFileAndStdin(t *testing.T) {
	path := fixture(t)
	file := filepath.Join(t.TempDir(), "in.json")
	if err := os.WriteFile(file, []byte(" {\"from\": \"file\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for id, input := range map[string]string{"a": "@" + file, "b": "-"} {
		if code, _, stderr := perdure(t, `{"from": "stdin"}`, "start", "Greet", "--id", id, "--input", input, "--db", path); code != exitOK {
			t.Fatal(stderr)
		}
	}
	if code, stdout, stderr := perdure(t, "", "list", "--status", "running", "--db", path); code != exitOK || strings.Count(stdout, "Greet") != 2 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestDatabaseFromEnvironment(t *testing.T) {
	t.Setenv(dbVariable, fixture(t))
	if code, stdout, stderr := perdure(t, "", "list"); code != exitOK || !strings.Contains(stdout, "greet-1") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.db")
	alter(t, path, "CREATE TABLE customer (name TEXT)") // the application's own database
	if code, stdout, stderr := perdure(t, "", "migrate", "status", "--db", path); code != exitOK || !strings.Contains(stdout, "no\n") {
		t.Errorf("status before: exit code %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := perdure(t, "", "migrate", "up", "--db", path); code != exitOK || strings.Contains(stdout, "no\n") {
		t.Errorf("up: exit code %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := perdure(t, "", "list", "--db", path); code != exitOK || strings.Count(stdout, "\n") != 1 {
		t.Errorf("list: exit code %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := perdure(t, "", "migrate", "print"); code != exitOK || !strings.Contains(stdout, "CREATE TABLE perdure_instance") {
		t.Errorf("print: exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestVersion(t *testing.T) {
	code, stdout, stderr := perdure(t, "", "version", "-o", "json")
	var v version
	if err := json.Unmarshal([]byte(stdout), &v); code != exitOK || err != nil {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if v.Version == "" || v.Schema < 1 || !strings.HasPrefix(v.Go, "go1.") || !strings.Contains(v.Platform, "/") {
		t.Errorf("version is %+v", v)
	}
	if code, stdout, _ := perdure(t, "", "version"); code != exitOK || !strings.Contains(stdout, "schema") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		code exitCode
	}{
		{nil, exitOK},
		{errors.New("something"), exitFailure},
		{badUsage("flag"), exitUsage},
		{client.ErrInvalid, exitUsage},
		{client.ErrTooLarge, exitUsage},
		{client.ErrNotFound, exitNotFound},
		{&client.ExistsError{}, exitConflict},
		{client.ErrEnded, exitConflict},
		{client.ErrInboxFull, exitConflict},
		{provider.ErrConflict, exitConflict},
		{&storeError{errors.New("open")}, exitStore},
		{&provider.Error{Op: "list", Err: errors.New("disk")}, exitStore},
		{provider.ErrNewerSchema, exitStore},
		{provider.ErrNotStore, exitStore},
		{client.ErrOutcomeUnknown, exitStore},
		{errInterrupted, exitInterrupted},
		{errDemoTime, exitFailure},
		{fmt.Errorf("%w: %w", client.ErrFailed, client.ErrExists), exitFailure},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("doing: %w", err)
		}
		if got := codeOf(err); got != c.code {
			t.Errorf("%v has the exit code %d, must have %d", c.err, got, c.code)
		}
	}
	for _, code := range []exitCode{exitOK, exitFailure, exitUsage, exitNotFound, exitConflict, exitStore, exitInterrupted} {
		if !strings.Contains(exitCodesText(), fmt.Sprintf("\n%5d  ", code)) {
			t.Errorf("exit code %d is not documented", code)
		}
	}
}
