package alarm

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// exact is an alarm by a timer of the kernel. One goroutine reads it: a read returns at the moment.
type exact struct {
	file *os.File
	fd   int
	mu   sync.Mutex // against setting a closed timer
	over bool
	done chan struct{}
}

var errVirtual = errors.New("time is virtual")

func newExact(ring func()) (Alarm, error) {
	if virtual() {
		return nil, errVirtual
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a timer: %w", err)
	}
	a := &exact{file: os.NewFile(uintptr(fd), "alarm"), fd: fd, done: make(chan struct{})}
	go a.run(ring)
	return a, nil
}

// virtual reports whether Go's clock differs from the machine's.
func virtual() bool {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &ts); err != nil {
		return true
	}
	behind := time.Since(time.Unix(ts.Unix()))
	return behind.Abs() > time.Hour
}

func (a *exact) run(ring func()) {
	defer close(a.done)
	var rung [8]byte // how often since the last read
	for {
		if _, err := a.file.Read(rung[:]); err != nil {
			return
		}
		ring()
	}
}

func (a *exact) Set(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(d), 1))} // zero would switch it off
	if err := unix.TimerfdSettime(a.fd, 0, &at, nil); err != nil {
		panic(fmt.Sprintf("setting a timer of this process: %v", err)) // the arguments are right
	}
}

func (a *exact) Stop() {
	a.mu.Lock()
	a.over = true
	_ = a.file.Close()
	a.mu.Unlock()
	<-a.done
}
