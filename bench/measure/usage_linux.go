package measure

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Self returns the usage of this process. ok is false if the system does not report it.
func Self() (u Usage, ok bool) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return u, false
	}
	u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	peak, ok1 := field("/proc/self/status", "VmHWM:")
	memory, ok2 := field("/proc/self/status", "VmRSS:")
	// The kernel's values are approximate and independent of each other.
	u.Peak, u.Memory = max(peak, memory)<<10, memory<<10
	return u, ok1 && ok2
}

// Written returns the number of bytes that this process has caused to be written to disks. If the system does not
// report it, ok is false.
func Written() (n int64, ok bool) { return field("/proc/self/io", "write_bytes:") }

// ResetPeak resets Usage.Peak. ok is false if the system does not support it.
func ResetPeak() (ok bool) {
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil
}

// field returns a number from a file of lines "name value".
func field(path, name string) (int64, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name {
			n, err := strconv.ParseInt(words[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// Load returns the average number of processes that ran or waited for a processor in the last minute.
func Load() (load float64, ok bool) {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(data), " ")
	load, err = strconv.ParseFloat(first, 64)
	return load, err == nil
}

// InMemory reports whether the files of a directory are in memory, where a sync costs nothing and makes nothing
// durable.
func InMemory(folder string) bool {
	var s unix.Statfs_t
	return unix.Statfs(folder, &s) == nil && (s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC)
}

// ticks is the number of time units per second in /proc, on every processor that Go supports.
const ticks = 100

// stat holds fields of a process from /proc.
type stat struct {
	parent int
	cpu    time.Duration
	exited time.Duration // of children that have exited
}

func readStat(pid int) (s stat, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, false
	}
	// The name in parentheses may contain anything.
	words := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(words) < 15 {
		return s, false
	}
	number := func(i int) int64 {
		n, err := strconv.ParseInt(words[i], 10, 64)
		ok = ok && err == nil
		return n
	}
	ok = true
	s.parent = int(number(1))
	s.cpu = time.Duration(number(11)+number(12)) * time.Second / ticks
	s.exited = time.Duration(number(13)+number(14)) * time.Second / ticks
	return s, ok
}

// Server returns the parent of a child process on this machine, if the title of the child contains all words. The
// check is needed because the process ID may belong to another machine.
func Server(child int, words ...string) (server int, ok bool) {
	title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
	if err != nil {
		return 0, false
	}
	for _, word := range words {
		if !strings.Contains(string(title), word) {
			return 0, false
		}
	}
	s, ok := readStat(child)
	return s.parent, ok && s.parent > 1
}

// Family returns the CPU time of a process and all its children, including those that have exited.
func Family(parent int) (cpu time.Duration, ok bool) {
	s, ok := readStat(parent)
	if !ok {
		return 0, false
	}
	cpu = s.cpu + s.exited
	stats, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, false
	}
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		if child, ok := readStat(pid); ok && child.parent == parent {
			cpu += child.cpu + child.exited
		}
	}
	return cpu, true
}
