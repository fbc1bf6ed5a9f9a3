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

// Self reads what this process has used. ok is false where the system does not tell.
func Self() (u Usage, ok bool) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return u, false
	}
	u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	peak, ok1 := field("/proc/self/status", "VmHWM:")
	memory, ok2 := field("/proc/self/status", "VmRSS:")
	// The kernel counts both only about, each on its own.
	u.Peak, u.Memory = max(peak, memory)<<10, memory<<10
	return u, ok1 && ok2
}

// Written answers how many bytes this process has caused to be written to disks. ok is false where the system does not tell.
func Written() (n int64, ok bool) { return field("/proc/self/io", "write_bytes:") }

// ResetPeak lets Usage.Peak begin anew. ok is false where the system does not let it.
func ResetPeak() (ok bool) {
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil
}

// field finds a number in a file of lines "name value".
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

// Load answers how many processes wanted the processors during the last minute.
func Load() (load float64, ok bool) {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(data), " ")
	load, err = strconv.ParseFloat(first, 64)
	return load, err == nil
}

// InMemory tells whether the files of a folder are kept in memory, where a push to the disk costs nothing and keeps nothing.
func InMemory(folder string) bool {
	var s unix.Statfs_t
	return unix.Statfs(folder, &s) == nil && (s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC)
}

// ticks are a second of the times in /proc, on every processor that Go knows.
const ticks = 100

// stat is what /proc tells about a process.
type stat struct {
	parent int
	cpu    time.Duration
	buried time.Duration // of children that are gone
}

func readStat(pid int) (s stat, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, false
	}
	// The name in brackets may hold anything.
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
	s.buried = time.Duration(number(13)+number(14)) * time.Second / ticks
	return s, ok
}

// Server finds the server of which a process of this machine is a child, if that process has a title in
// which all words stand: a process of that number may be another machine's.
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

// Family answers what a process and all its children have used, also those that are gone.
func Family(parent int) (cpu time.Duration, ok bool) {
	s, ok := readStat(parent)
	if !ok {
		return 0, false
	}
	cpu = s.cpu + s.buried
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
			cpu += child.cpu + child.buried
		}
	}
	return cpu, true
}
