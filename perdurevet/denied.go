package perdurevet

import (
	"go/types"
	"strings"
)

// denial says why orchestration code must not use a function, and what it uses instead.
type denial struct {
	rule, why, instead string

	here bool // it counts in orchestration code itself, not in a function that it calls
}

// Reasons that several rules and functions share.
const (
	callActivity  = "call it in an activity, or in orchestration.SideEffect for a quick value"
	otherTime     = "a replay reads another time"
	notStored     = "a replay starts the wait anew, and the engine does not see it"
	otherNumbers  = "a replay gets other values"
	doneAgain     = "a replay does it again, and may get something else"
	printedAgain  = "each replay prints again"
	endsProcess   = "it ends the process with all that runs there, and a replay does it again"
	ownGoroutine  = "it runs outside of the history, and its context ends there"
	engineIsBlind = "the engine does not see the wait and takes it for a deadlock"
)

// denials returns the functions that orchestration code must not use, by their full names.
func denials() map[string]denial {
	table := map[string]denial{}
	add := func(d denial, names string) {
		for name := range strings.FieldsSeq(names) {
			table[name] = d
		}
	}
	addTime(add)
	addInput(add)
	addOutput(add)
	addWaits(add)
	return table
}

func addTime(add func(denial, string)) {
	add(denial{ruleClock, otherTime, "use ctx.Now()", false}, "time.Now")
	add(denial{ruleClock, otherTime, "subtract from ctx.Now()", false}, "time.Since time.Until")
	add(denial{ruleClock, notStored, "use ctx.Sleep", false}, "time.Sleep")
	add(denial{ruleClock, notStored, "use orchestration.StartTimer", false}, "time.After time.AfterFunc time.Tick time.NewTimer time.NewTicker")
	add(denial{ruleRandom, otherNumbers, "use ctx.NewUUID()", false}, `
		github.com/google/uuid.New github.com/google/uuid.NewString github.com/google/uuid.NewRandom github.com/google/uuid.NewUUID
		github.com/google/uuid.NewV6 github.com/google/uuid.NewV7
		github.com/gofrs/uuid.NewV1 github.com/gofrs/uuid.NewV4 github.com/gofrs/uuid.NewV6 github.com/gofrs/uuid.NewV7
		github.com/gofrs/uuid/v5.NewV1 github.com/gofrs/uuid/v5.NewV4 github.com/gofrs/uuid/v5.NewV6 github.com/gofrs/uuid/v5.NewV7
		github.com/oklog/ulid/v2.Make github.com/rs/xid.New github.com/segmentio/ksuid.New`)
}

func addInput(add func(denial, string)) {
	add(denial{ruleIO, doneAgain, callActivity, false}, `
		os.Getenv os.LookupEnv os.Environ os.ExpandEnv os.Setenv os.Unsetenv os.Hostname os.Getpid os.Getwd os.UserHomeDir os.TempDir
		os.Open os.OpenFile os.OpenRoot os.Create os.CreateTemp os.ReadFile os.WriteFile os.ReadDir os.Stat os.Lstat os.Remove os.RemoveAll
		os.Rename os.Mkdir os.MkdirAll os.MkdirTemp os.Link os.Symlink os.Readlink os.Truncate os.Chmod os.Chtimes
		path/filepath.Abs path/filepath.EvalSymlinks path/filepath.Glob path/filepath.Walk path/filepath.WalkDir
		os/exec.Command os/exec.CommandContext os/exec.LookPath os/signal.Notify os/signal.NotifyContext os/user.Current os/user.Lookup
		net.Dial net.DialTimeout net.DialTCP net.DialUDP net.DialUnix net.Listen net.ListenPacket net.ListenTCP net.ListenUDP net.ListenUnix
		net.LookupAddr net.LookupCNAME net.LookupHost net.LookupIP net.LookupMX net.LookupNS net.LookupPort net.LookupSRV net.LookupTXT
		net.ResolveIPAddr net.ResolveTCPAddr net.ResolveUDPAddr net.Interfaces net.InterfaceAddrs
		(*net.Dialer).Dial (*net.Dialer).DialContext
		net/http.Get net/http.Head net/http.Post net/http.PostForm net/http.ListenAndServe net/http.ListenAndServeTLS
		(*net/http.Client).Do (*net/http.Client).Get (*net/http.Client).Head (*net/http.Client).Post (*net/http.Client).PostForm
		(*net/http.Transport).RoundTrip (net/http.RoundTripper).RoundTrip net/smtp.SendMail
		database/sql.Open database/sql.OpenDB
		(*database/sql.DB).Query (*database/sql.DB).QueryContext (*database/sql.DB).QueryRow (*database/sql.DB).QueryRowContext
		(*database/sql.DB).Exec (*database/sql.DB).ExecContext (*database/sql.DB).Begin (*database/sql.DB).BeginTx
		(*database/sql.DB).Prepare (*database/sql.DB).PrepareContext (*database/sql.DB).Ping (*database/sql.DB).PingContext (*database/sql.DB).Conn
		(*database/sql.Tx).Query (*database/sql.Tx).QueryContext (*database/sql.Tx).QueryRow (*database/sql.Tx).QueryRowContext
		(*database/sql.Tx).Exec (*database/sql.Tx).ExecContext (*database/sql.Tx).Commit (*database/sql.Tx).Rollback
		(*database/sql.Conn).QueryContext (*database/sql.Conn).QueryRowContext (*database/sql.Conn).ExecContext (*database/sql.Conn).BeginTx
		(*database/sql.Stmt).Query (*database/sql.Stmt).QueryContext (*database/sql.Stmt).QueryRow (*database/sql.Stmt).QueryRowContext
		(*database/sql.Stmt).Exec (*database/sql.Stmt).ExecContext`)
	add(denial{ruleIO, endsProcess, "return an error", false}, "os.Exit log.Fatal log.Fatalf log.Fatalln")
}

func addOutput(add func(denial, string)) {
	add(denial{rulePrint, printedAgain, "use ctx.Logger()", true}, `
		fmt.Print fmt.Printf fmt.Println log.Print log.Printf log.Println log/slog.Debug log/slog.DebugContext log/slog.Info log/slog.InfoContext
		log/slog.Warn log/slog.WarnContext log/slog.Error log/slog.ErrorContext log/slog.Log log/slog.LogAttrs`)
}

func addWaits(add func(denial, string)) {
	add(denial{ruleGoroutine, ownGoroutine, "use ctx.Go", false}, goroutineStarters)
	add(denial{ruleGoroutine, "the turn fails", "return an error", true}, "runtime.Goexit")
	add(denial{ruleGoroutine, "coroutines change their thread, and Go ends the process", "call it in an activity", false}, "runtime.LockOSThread")
	add(denial{ruleGoroutine, "it depends on the process", callActivity, false}, "runtime.NumGoroutine runtime.NumCPU runtime.GOMAXPROCS")
	// A function that locks for a moment does no harm.
	add(denial{ruleBlocking, engineIsBlind, "leave the lock out: coroutines never run at the same time", true}, `
		(*sync.Mutex).Lock (*sync.Mutex).TryLock (*sync.RWMutex).Lock (*sync.RWMutex).TryLock (*sync.RWMutex).RLock (*sync.RWMutex).TryRLock
		(sync.Locker).Lock`)
	add(denial{ruleBlocking, engineIsBlind, "wait for futures by orchestration.All or Get", false}, `
		(*sync.WaitGroup).Wait (*sync.Cond).Wait (*golang.org/x/sync/errgroup.Group).Wait (*golang.org/x/sync/semaphore.Weighted).Acquire`)
}

const goroutineStarters = "(*sync.WaitGroup).Go (*golang.org/x/sync/errgroup.Group).Go (*golang.org/x/sync/errgroup.Group).TryGo"

// goroutineStarter reports whether a function runs the literal that it is given in another goroutine.
func goroutineStarter(fn *types.Func) bool {
	for name := range strings.FieldsSeq(goroutineStarters) {
		if fn.FullName() == name {
			return true
		}
	}
	return false
}

// denied returns why orchestration code must not use fn. ok is false if it may.
func (c *checker) denied(fn *types.Func) (d denial, ok bool) {
	if fn.Pkg() == nil {
		return denial{}, false
	}
	switch fn.Pkg().Path() {
	case "math/rand", "math/rand/v2": // a source that the code makes itself gives the same numbers each time
		if fn.Signature().Recv() == nil && !strings.HasPrefix(fn.Name(), "New") {
			return denial{ruleRandom, otherNumbers, "use ctx.Rand()", false}, true
		}
	case "crypto/rand":
		return denial{ruleRandom, otherNumbers, "call an activity: what ctx.Rand() gives is no secret", false}, true
	}
	d, ok = c.denials[fn.FullName()]
	return d, ok
}
