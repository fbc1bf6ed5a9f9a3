package main

import "regexp"

// operatorText says in the words of the command line what an error of the library says in those of a programmer: flags and commands in place
// of functions and options of Go.
func operatorText(text string) string {
	for _, w := range operatorWords {
		text = w.library.ReplaceAllString(text, w.operator)
	}
	return text
}

// quoted matches a quoted argument in the text of an error, and the verb that stands for it in the code.
const quoted = `("(?:[^"\\]|\\.)*"|%q)`

// operatorWords are in the order in which they are replaced.
//
//nolint:gochecknoglobals // constant table
var operatorWords = []struct {
	library  *regexp.Regexp
	operator string
}{
	// Writes whose outcome is unknown.
	{
		regexp.MustCompile(`repeat it with client\.WithID\(` + quoted + `\) and client\.WithRequestID\(` + quoted + `\)`),
		`see whether --id $1 is there before you repeat it`,
	},
	{regexp.MustCompile(`repeat it with client\.WithRequestID\(` + quoted + `\)`), `look at the instance before you repeat it`},
	{regexp.MustCompile(`repeat it with client\.WithUpdateID\(` + quoted + `\)`), `repeat it with --id $1`},
	{regexp.MustCompile(`repeat it with client\.Repeatable\(` + quoted + `\)`), `repeat it with --request-id $1`},
	// Options that are flags.
	{regexp.MustCompile(`use another ID, or (?:replace it with client\.ReplaceEnded, or )?take it with client\.UseExisting`), `give another ID`},
	{regexp.MustCompile(`(?:replace it with client\.ReplaceEnded, or )?take it with client\.UseExisting`), `leave that one as it is`},
	{regexp.MustCompile(`or client\.EnsureSchedule to bring it up to date`), `or change it with 'perdure schedule update'`},
	{regexp.MustCompile(`delete it with client\.Force`), `add --force`},
	{regexp.MustCompile(`give client\.SuspendToMove`), `add --suspend`},
	{regexp.MustCompile(`give client\.RestartAs`), `give another ID with --id`},
	{regexp.MustCompile(`or set Young`), `or add --young`},
	{regexp.MustCompile(`repeat that one with Again`), `repeat that one with --again`},
	{regexp.MustCompile(`bring it back with Import`), `bring it back with 'perdure import --back'`},
	{regexp.MustCompile(`set some with SetRetention`), `set some with 'perdure retention set'`},
	{regexp.MustCompile(`filter CodeVersions`), `flag --version`},
	{regexp.MustCompile(`give Crons, Every or At`), `give --cron, --every or --at`},
	{regexp.MustCompile(`\bMaxRunning (\S+ with overlap|\S+: give)`), `--max-running $1`},
	{regexp.MustCompile(`\bPauseAfterFailures `), `--pause-after-failures `},
	{regexp.MustCompile(`give one of HistoryKinds, such as`), `give one such as`},
	{regexp.MustCompile(`give one of the ActivityState constants, or "" for any`), `give another one`},
	{
		regexp.MustCompile(`register a handler with orchestration\.Handle(?:Query|Update) before the code first waits`),
		`the code has to register a handler before it first waits`,
	},
	// Stores.
	{regexp.MustCompile(`the store has no provider\.(?:\w+|%s)`), `this kind of store cannot do it`},
	{regexp.MustCompile(`within the client's CallTimeout`), `in time`},
	{regexp.MustCompile(`or open it with ReadOnly to look only`), `or add --read-only to look only`},
	{regexp.MustCompile(`as it is opened with ReadOnly or NoMigrate`), `because this command makes none`},
	{regexp.MustCompile(`; run the migrations, or open without NoMigrate and ReadOnly`), ``}, // the command adds how
	{regexp.MustCompile(`set Options\.MountedFile \(for commands (\S+)=1\)`), `set $1=1`},
	{regexp.MustCompile(`set Options\.Pooler, and Options\.ListenURL to the server's own URL`), `name the server itself with --db, not the pooler`},
	{regexp.MustCompile(`leave it out, or behind a pooler set Options\.Pooler or (\S+)`), `leave it out of the URL, or behind a pooler give $1`},
}
