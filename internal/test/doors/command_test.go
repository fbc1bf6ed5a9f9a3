package doors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// exit is the exit code and output of the binary.
type exit struct {
	code int
	text string
}

func (e *exit) Error() string { return e.text }

func (e *exit) Is(target error) bool {
	other, ok := target.(*exit)
	return ok && other.code == e.code
}

func exitCode(n int) kind { return kind{fmt.Sprintf("exit code %d", n), &exit{code: n}} }

var (
	usage    = exitCode(2)
	missing  = exitCode(3)
	conflict = exitCode(4)
	unusable = exitCode(5)
)

// hint follows the error for a command line that the binary did not understand.
const hint = "\nrun 'perdure help' for the commands and their flags"

// binary builds the command.
func binary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "perdure")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path, "../../../cmd/perdure").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

func typingCommands() section {
	return section{
		title: "Command line",
		intro: "The error goes to standard error, after `perdure: ` or, with `-o json`, as the field `error`, and nothing to standard output. An unknown command line is followed by the line " +
			"`run 'perdure help' for the commands and their flags`. DB stands for a store in which `open` is running and `done` has ended, DIR for a directory, N for a number.",
		rows: func(t *testing.T, store *world) []row {
			perdure, dir := binary(t), t.TempDir()
			db := store.path
			write(t, dir, "note.txt", strings.Repeat("this is no database\n", 100))
			write(t, dir, "empty.db", "")
			write(t, dir, "large.json", `"`+text(2<<20+1)+`"`)
			write(t, dir, "bad.json", `{"by": ann}`)
			newer(t, filepath.Join(dir, "newer.db"))
			hide := strings.NewReplacer(append(level(t), db, "DB", dir, "DIR")...)
			run := func(ctx context.Context, stdin string, args ...string) error {
				for i := range args {
					args[i] = strings.NewReplacer("DIR", dir, "DB", db).Replace(args[i])
				}
				var out, errs bytes.Buffer
				cmd := exec.CommandContext(ctx, perdure, args...)
				cmd.Env = append(os.Environ(), "PERDURE_DB=")
				cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
				err := cmd.Run()
				failed, ok := errors.AsType[*exec.ExitError](err)
				if !ok {
					return err
				}
				if out.Len() > 0 {
					t.Errorf("%v: standard output must be empty: %q", args, out.String())
				}
				said, begins := strings.CutPrefix(strings.TrimSuffix(errs.String(), "\n"), "perdure: ")
				var problem struct {
					Error string `json:"error"`
				}
				if json.Unmarshal(errs.Bytes(), &problem) == nil { // of -o json
					said, begins = problem.Error, true
				}
				if !begins {
					t.Errorf("%v: the error must begin with the program's name: %q", args, errs.String())
				}
				said = hide.Replace(strings.TrimSuffix(said, hint))
				return &exit{failed.ExitCode(), said}
			}
			// line returns a row whose input is the command line itself.
			line := func(is kind, command, want, do string) row {
				return row{"`perdure " + command + "`", func(ctx context.Context) error { return run(ctx, "", strings.Fields(command)...) }, is, want, do}
			}
			args := func(args ...string) func(context.Context) error {
				return func(ctx context.Context) error { return run(ctx, "", args...) }
			}
			return []row{
				line(usage, "lst", `unknown command "lst" for 'perdure': did you mean 'perdure list'?`, "`perdure help` lists the commands."),
				line(usage, "describe --db DB", "argument ID is missing: the command is 'perdure describe ID'", "Give the ID."),
				line(usage, "describe open done --db DB", `unexpected argument "done": the command is 'perdure describe ID'`, "Give one ID."),
				line(usage, "raise open --db DB", "argument EVENT is missing: the command is 'perdure raise ID EVENT [JSON]'", "Give ID and event."),
				line(usage, "raise open paid 1 2 --db DB", `unexpected argument "2": the command is 'perdure raise ID EVENT [JSON]'`, "Quote a payload with spaces."),
				line(usage, "list extra --db DB", `search, column 1: "extra" has no word: write WORD:VALUE; for instances whose ID begins so, id:extra`, "Write a search."),
				line(usage, "list id:a extra --db DB", `unexpected argument "extra": the command is 'perdure list [SEARCH]'`, "Quote a search with spaces."),
				line(usage, "migrate sideways", `unknown command "sideways" for 'perdure migrate'`, "`perdure migrate --help` lists them."),
				line(usage, "list --nothing", "unknown flag: --nothing", "`perdure list --help` lists the flags."),
				line(usage, "list --db", "flag needs an argument: --db", "Give the path."),
				line(usage, "list", "no database is named: give --db with a path or a postgres:// URL, or set PERDURE_DB", "Name the database."),
				{"`perdure list --db ''`", args("list", "--db", ""), usage, "flag --db is empty: give a path or a URL, or leave the flag out to use PERDURE_DB", "A variable of your script is not set?"},
				line(usage, "list --db mysql://app:secret@db/app", "not a database name: give the path of a SQLite file, or a URL such as postgres://user@host/database", "Nothing of what may hold a password is repeated."),
				line(usage, "list --db postgres://app:sec/ret@db/app", "open postgres: invalid request: the URL cannot be read: it must be of the form postgres://user@host:port/database, with special characters of user and password written as %XX", "Write `%2F` for the slash."),
				line(usage, "list --db postgres://app@db/app?schema=", "the URL of the database must name one schema: schema=NAME", "Leave `schema` out to use `perdure`."),
				line(unusable, "list --db postgres://app:secret@127.0.0.1:1/app?sslmode=disable", "open postgres://app@127.0.0.1:1/app: 127.0.0.1:1 (127.0.0.1): dial error: dial tcp 127.0.0.1:1: connect: connection refused; check host, port and sslmode, and that the server runs", "Check that the server runs."),
				line(usage, "migrate grants app --db DB", "a SQLite file has no roles: name a Postgres database with --db postgres://...", "A file has the rights of its directory."),
				line(usage, "activity retry open two --db DB", `"two" is not the number of an event; 'perdure describe open' lists the pending activities`, "Give the number of the event."),
				line(usage, "activity retry open 2 --attempt 0 --db DB", "flag --attempt is 0: attempts begin with 1", "Leave the flag out to act on the pending one."),
				line(missing, "activity retry open 2 --db DB", `activity 2 of "open": not found: it is not pending; 'perdure describe open' lists those that are`, "It has ended, or the number is wrong."),
				line(conflict, "suspend done --db DB", `suspending instance "done": instance has ended (Completed): start a new one or use another ID`, "There is nothing left to stop."),
				line(usage, "queue pause mail --wait -1s --db DB", "flag --wait is -1s: it must be 0 or more", "Give 0 to return at once."),
				line(missing, "node drain web-7 --db DB", `draining node "web-7": not found: it is not in the list of nodes, which has those that run now; list them for the names`, "`perdure node list` shows the names."),
				line(usage, "audit list --act fly --db DB", `reading the audit: invalid request: there is no act "fly": give one of the Act constants`, "Use a word of the column ACT."),
				line(usage, "audit list --limit 0 --db DB", "flag --limit is 0: it must be 1 or more", "Give how many to show."),
				line(usage, "list --db DB -o xml", `flag --output is "xml": it must be table, json or jsonl`, "Use one of the three."),
				line(usage, "list --db DB --log-level loud", `flag --log-level is "loud": it must be debug, info, warn or error`, "Use one of the four."),
				line(usage, "list --db DB --limit 0", "flag --limit is 0: it must be 1 or more", "Give how many to show."),
				line(usage, "list --db DB --limit ten", `flag --limit is "ten": it must be a whole number`, "Write digits."),
				line(usage, "list --db DB --limit 99999999999999999999", `flag --limit is "99999999999999999999": it must be a smaller number`, "Give a smaller one."),
				line(usage, "list --db DB --blocked=maybe", `flag --blocked is "maybe": it must be true or false`, "`--blocked` alone means true."),
				line(usage, "list --db DB --status ended", `flag --status is "ended": it must be running, suspended, completed, failed, cancelled or terminated`, "Use one of the six."),
				line(usage, "history done --execution x --db DB", `flag --execution is "x": it must be a whole number`, "Write digits."),
				line(usage, "history done --execution -1 --db DB", `reading the history of instance "done": invalid request: execution -1: give 1 or more, or 0 for the current one`, "Executions count from 1."),
				line(missing, "history done --execution 9 --db DB", `reading the history of instance "done": not found: it has no execution 9, or was deleted; 0 is the current one`, "`perdure describe` prints the current one."),
				line(missing, "describe nobody --db DB", `looking up instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "`perdure list` shows the IDs."),
				{"`perdure describe ''`", args("describe", "", "--db", "DB"), usage, `looking up instance "": invalid request: instance ID is empty: give 1 to 512 bytes of UTF-8`, "A variable of your script is not set?"},
				{"`perdure describe` of an ID with control characters", args("describe", "a\x1b[31mb\n", "--db", "DB"), missing, `looking up instance "a\x1b[31mb\n": not found: it never existed or was deleted; check the ID, and that this is the right store`, "They are shown escaped."},
				{"`perdure describe` of an ID that is not UTF-8", args("describe", "a\xff", "--db", "DB"), usage, `looking up instance "a\xff": invalid request: instance ID "a\xff" is not valid UTF-8: encode it, as hex for example`, "No instance has this ID."},
				{"`perdure describe` of an ID of 513 bytes", args("describe", long, "--db", "DB"), usage, `looking up instance "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"...: invalid request: instance ID "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "No instance has this ID."},
				{"`perdure start ''`", args("start", "", "--db", "DB"), usage, `starting "": invalid request: orchestration name is empty: give 1 to 512 bytes of UTF-8`, "Give the name of an orchestration."},
				{"`perdure start Checkout --id ''`", args("start", "Checkout", "--id", "", "--db", "DB"), usage, `starting "Checkout": invalid request: instance ID is empty: give 1 to 512 bytes of UTF-8`, "Leave the flag out to get a UUID."},
				line(conflict, "start Checkout --id open --db DB", `starting "Checkout": instance "open" already exists (status Running): give another --id, or look at it with 'perdure describe'`, "The work is started already."),
				{"`perdure start Checkout --input ''`", args("start", "Checkout", "--input", "", "--db", "DB"), usage, "input is empty: give JSON, or leave it out", "A variable of your script is not set?"},
				line(usage, "start Checkout --input ann --db DB", `input is not valid JSON at byte 1: invalid character 'a' looking for beginning of value; a string needs quotes, as in '"text"'`, "JSON texts have quotes of their own."),
				line(usage, "start Checkout --input @DIR/bad.json --db DB", `input is not valid JSON at byte 8: invalid character 'a' looking for beginning of value; a string needs quotes, as in '"text"'`, "Mend the file."),
				line(usage, "start Checkout --input @DIR/none.json --db DB", "reading input: open DIR/none.json: no such file or directory", "Check the path."),
				line(usage, "start Checkout --input @DIR --db DB", "reading input: read DIR: is a directory", "Name a file."),
				line(usage, "start Checkout --input @ --db DB", "input is @ without a file: give its name, as in @order.json", "Name a file."),
				line(usage, "start Checkout --input @DIR/large.json --db DB", `starting "Checkout": too large: input has 2097153 bytes: at most 2097152 fit; store the data elsewhere and pass a reference`, "Store the data elsewhere and pass a reference."),
				{"`perdure start Checkout --input -`, 16 MiB and a byte", func(ctx context.Context) error {
					return run(ctx, strings.Repeat(" ", 16<<20+1), "start", "Checkout", "--input", "-", "--db", "DB")
				}, usage, "reading input: more than 16777216 bytes: store the data elsewhere and pass a reference", "Store the data elsewhere and pass a reference."},
				line(usage, "raise open paid {\"by\": --db DB", `payload is not valid JSON at byte 6: unexpected end of JSON input; a string needs quotes, as in '"text"'`, "Quote the payload for the shell: `'{\"by\": 1}'`."),
				line(missing, "raise nobody paid --db DB", `raising event "paid" to instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "`perdure list` shows the IDs."),
				line(conflict, "raise done paid --db DB", `raising event "paid" to instance "done": instance has ended (Completed): start a new one or use another ID`, "The event came too late."),
				{"`perdure raise open ''`", args("raise", "open", "", "--db", "DB"), usage, `raising an event to instance "open": invalid request: event name is empty: give 1 to 512 bytes of UTF-8`, "Give the name that the orchestration waits for."},
				line(conflict, "cancel done --db DB", `cancelling instance "done": instance has ended (Completed): start a new one or use another ID`, "There is nothing left to stop."),
				{"`perdure cancel open --reason`, 4 KiB and a byte", args("cancel", "open", "--reason", strings.Repeat("x", 4<<10+1), "--db", "DB"), usage, `cancelling instance "open": too large: the reason has 4097 bytes: shorten it to 4096`, "Shorten it."},
				line(conflict, "terminate done --db DB", `terminating instance "done": instance has ended (Completed): start a new one or use another ID`, "There is nothing left to end."),
				line(conflict, "unblock done --db DB", `unblocking instance "done": instance has ended (Completed): start a new one or use another ID`, "It is not blocked."),
				line(unusable, "list --db DIR/none.db", "open DIR/none.db: there is no such file; check --db and PERDURE_DB, or create it with 'perdure migrate up --db DIR/none.db'", "Check the path."),
				{"`perdure list --db` of a path with an escape sequence", args("list", "--db", "\x1b[31mred.db"), unusable, `open \x1b[31mred.db: there is no such file; check --db and PERDURE_DB, or create it with 'perdure migrate up --db \x1b[31mred.db'`, "Check the path."},
				line(unusable, "list --db DIR", "open DIR: it is a directory; name a file in it: invalid request", "Name a file in it."),
				line(unusable, "list --db DIR/note.txt", "open DIR/note.txt: not a perdure store: the file is not a SQLite database; give another path, or move the file away: file is not a database (26)", "Check the path."),
				line(unusable, "list --db DIR/empty.db", "open DIR/empty.db: not a perdure store: migration 1 (core) is missing; 'perdure migrate up --db DIR/empty.db' creates the missing tables", "Check the path first: this makes a store of it."),
				line(unusable, "list --db DIR/newer.db", "open DIR/newer.db: store has a newer schema: the file has schema 99, which needs code of level 99 or newer, and this release has level N; upgrade it, or restore a backup from before the upgrade", "Use the binary of the release that the service runs."),
				line(unusable, "migrate up --db DIR/none/orders.db", "open DIR/none/orders.db: the directory must exist: stat DIR/none: no such file or directory", "Make the directory."),
				line(unusable, "migrate status --db DIR/none.db", "open DIR/none.db: there is no such file; check --db and PERDURE_DB, or create it with 'perdure migrate up --db DIR/none.db'", "Check the path."),
				line(usage, "demo --lease 1ms", "flag --lease is 1ms: it must be 500ms to 1m0s", "Give one within the bounds."),
				line(usage, "demo --lease soon", `flag --lease is "soon": it must be a duration, such as 500ms or 2s`, "Write a number and a unit."),
				line(usage, "demo --order {\"id\":\"o-1\",\"customer\":\"Ann\",\"items\":[]}", "flag --order: items: there are 0, must be 1 to 1000", "Mend the order."),
				line(usage, "demo --order {\"id\":7}", "flag --order: id: is a JSON number, must be a string", "Mend the order."),
				line(usage, "demo -o json", "flag --output is json: the demo prints text only; use --db and then 'perdure history -o json'", "Keep the database with `--db`."),
			}
		},
	}
}
