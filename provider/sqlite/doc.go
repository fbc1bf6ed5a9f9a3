// Package sqlite stores durable executions in one SQLite file (pure Go, no cgo).
//
// [Open] opens or creates the file. Any number of handles in a process, and several processes on one machine, may share it.
// Network file systems are not supported. SQLite keeps its own -wal and -shm files next to the database. This package adds
// three empty lock files and never removes them. -q and -w are the file lock for which the writers of all processes queue
// fairly. Each process locks a byte of -p to show that it is alive. Nothing else in the process may open and close the
// database file by means other than SQLite, because POSIX locks are dropped when any descriptor of the file is closed.
//
// # How it works
//
// There is one writer at a time: a goroutine of the store or, if no group runs, the caller itself. It takes every call that
// waits, runs all of them in one transaction, commits once, and only then lets them return: group commit. Fetches that found
// nothing wait in the process. The transaction that makes something ready also claims it for them, so starting an
// instance and fetching it cost one commit. Four connections read, never inside a long transaction. The log has room for 9 MB
// in advance, since a commit that extends the file takes nearly twice as long. SQLite copies the log into the
// database inside the commit that makes it 2,000 pages (8 MB) long.
//
// Leases run on the elapsed clock of the machine (on Linux), which time steps and suspended sleep cannot shorten. A reboot ends
// them all. The file names the process that serves each lease owner, so the leases of a process that died end within a quarter
// of a second. The store's time never goes back. After the wall clock was set back it goes on, a little slower until the clock
// has caught up.
//
// Another process's writes are noticed by PRAGMA data_version: within 2 ms while both are busy, 10 ms while the other has the
// file open but does not write, 12 ms when no other process was seen and a call waits, else 250 ms. On Linux, after 100 ms without a
// write, the kernel reports the next write (inotify), and the writer polls only each 250 ms. An open store takes one of the
// inotify instances that the system allows a user. Where none is left, it polls as on other systems. Calls that wait for an
// instance notice such writes the later the more calls wait: by 50 us for each, up to a second. Fetches always notice at once.
//
// Transactions that a program begins with [Provider.BeginTx] wait in the same queue as the store's writer, in order of arrival,
// and take the same file lock. Those of a separate database handle wait in SQLite's busy handler, which is not fair.
//
// A process that is stopped while it writes makes writes of the others fail, retryably, after [Options].BusyTimeout each.
//
// History, messages, tasks and results carry a checksum. Damage concerns its instance only, which is held back as Blocked with
// the reason "corrupt".
//
// On Windows and other systems without flock, the writers of several processes queue in SQLite's busy handler instead, which
// is not fair. One process is as fast there.
package sqlite
