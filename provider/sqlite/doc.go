// Package sqlite stores durable executions in one SQLite file (pure Go, no cgo).
//
// [Open] opens or creates the file. Any number of handles in a process, and several
// processes on one machine, may share it; network file systems are not supported.
// Beside the database lie SQLite's own -wal and -shm files and three empty lock files
// that this package makes: -q and -w are the turnstile at which the writers of all
// processes queue fairly, and each process locks a byte of -p to show that it is there. They are
// never removed.
// Nothing else in the process may open and close the database file by means other than
// SQLite, because POSIX locks fall when any descriptor of the file is closed.
//
// # How it works
//
// One writes at a time: a goroutine of the store's or, if nobody writes just then, the caller itself. Whoever it is takes
// every call that waits, runs all of them in one
// transaction, commits once, and only then answers: group commit. Fetches that found
// nothing are parked in the process, and when a transaction makes something ready the
// same transaction claims it for them, so starting an instance and fetching it cost one
// commit. Four connections read, never inside a long transaction. The log has room for 9 MB in
// advance, since a commit that makes the file longer takes nearly twice as long, and is copied into
// the database when nobody calls, or at 8 MB.
//
// Leases run on the elapsed clock of the machine (on Linux), which time steps and
// suspended sleep cannot shorten; a reboot ends them all. The file says which process serves which
// lease owner, so that the leases of a process that died end within a quarter of a second.
// The store's time never goes back: after the wall clock was set back it goes on, a little
// slower until the clock has caught up.
//
// Another process's writes are noticed by PRAGMA data_version: within 2 ms while both
// are busy, 10 ms while the other is there but quiet, 12 ms when nobody else was seen and a call
// waits, else 250 ms. On Linux, after 100 ms in which nobody wrote, the kernel tells of the next write
// (inotify), and the writer looks each 250 ms only. An open store takes one of the inotify instances that the
// system allows a user; where none is left, it looks as on other systems.
// Calls that wait for an instance hear of them the later the more calls wait, by 50 us each
// and a second at most; fetches always hear at once.
//
// Transactions that a program begins with [Provider.BeginTx] wait in the same line as the store's writer, in order of
// arrival, and pass the same turnstile. Those of a handle of its own wait in SQLite's busy handler, which is not fair.
//
// A process that is stopped while it writes makes writes of the others fail, retryably,
// after [Options].BusyTimeout each.
//
// History, messages, tasks and results carry a checksum. What is damaged concerns its
// instance only, which is held back as Blocked with the reason "corrupt".
//
// On Windows and other systems without flock the writers of several processes queue in
// SQLite's busy handler instead, which is not fair; one process is as fast there.
package sqlite
