// Package process has code that depends on more than its history, and clean code beside it.
package process

import (
	crypto "crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/other"
	"example.com/shop/helper"
	"github.com/google/uuid"
	"github.com/perdure/perdure/orchestration"
)

type order struct {
	ID string
	At time.Time
}

var (
	served  int
	byID    = map[string]int{}
	counter atomic.Int64
	raw     int64
)

func clocks(ctx *orchestration.Context, o order) (order, error) {
	o.At = time.Now()                 // want `orchestration code uses time.Now: a replay reads another time; use ctx.Now\(\) \(clock\)`
	if time.Since(o.At) > time.Hour { // want `uses time.Since: .*; subtract from ctx.Now\(\) \(clock\)`
		time.Sleep(time.Second) // want `uses time.Sleep: .* use ctx.Sleep \(clock\)`
	}
	now := time.Now // want `uses time.Now`
	o.At = now()
	late := time.NewTimer(time.Hour) // want `uses time.NewTimer: .* use orchestration.StartTimer \(clock\)`
	late.Stop()
	return o, nil
}

func numbers(ctx *orchestration.Context, o order) (order, error) {
	o.ID = uuid.NewString() // want `uses uuid.NewString: a replay gets other values; use ctx.NewUUID\(\) \(random\)`
	if rand.IntN(2) == 0 {  // want `uses rand.IntN: .* use ctx.Rand\(\) \(random\)`
		return o, errors.New("unlucky")
	}
	_, err := crypto.Read(make([]byte, 8)) // want `uses rand.Read: .* \(random\)`
	return o, err
}

type shop struct {
	db    *sql.DB
	http  *http.Client
	mutex sync.Mutex
	sync.RWMutex
}

func (s *shop) world(ctx *orchestration.Context, o order) (string, error) {
	region := os.Getenv("REGION")                                // want `uses os.Getenv: a replay does it again, and may get something else; call it in an activity, or in orchestration.SideEffect for a quick value \(io\)`
	if _, err := s.http.Get("https://example.com"); err != nil { // want `uses Client.Get: .* \(io\)`
		return "", err
	}
	row := s.db.QueryRow("select 1") // want `uses DB.QueryRow: .* \(io\)`
	var n int
	if err := row.Scan(&n); err != nil {
		os.Exit(1) // want `uses os.Exit: it ends the process`
	}
	fmt.Println(region)         // want `uses fmt.Println: each replay prints again; use ctx.Logger\(\) \(print\)`
	slog.Info("served", "n", n) // want `uses slog.Info: .* \(print\)`
	return region, nil
}

func (s *shop) waits(ctx *orchestration.Context, o order) (int, error) {
	results := make(chan int)
	go func() { results <- 1 }() // want `starts a goroutine: it runs outside of the history, and its context ends there; use ctx.Go \(goroutine\)`
	n := <-results               // want `receives from a channel: the engine does not see the wait and takes it for a deadlock; use a future, orchestration.Events or orchestration.Select \(blocking\)`
	select {                     // want `selects among channels: .* \(blocking\)`
	case results <- n:
	case n = <-results:
		close(results) // want `closes a channel`
	}
	for range results { // want `receives from a channel`
		n++
	}
	results <- n   // want `sends to a channel`
	s.mutex.Lock() // want `uses Mutex.Lock: .*; leave the lock out: coroutines never run at the same time \(blocking\)`
	s.RLock()      // want `uses RWMutex.RLock: .* \(blocking\)`
	defer s.RUnlock()
	s.mutex.Unlock()
	var group sync.WaitGroup
	group.Go(func() { results <- 2 }) // want `uses WaitGroup.Go: .* use ctx.Go \(goroutine\)`
	group.Wait()                      // want `uses WaitGroup.Wait: .* \(blocking\)`
	runtime.LockOSThread()            // want `uses runtime.LockOSThread: coroutines change their thread`
	return n, nil
}

func globals(ctx *orchestration.Context, o order) (int, error) {
	served++                         // want `changes the package variable served: a replay finds it changed, and other instances change it, too; use a variable of the function, or its input \(global\)`
	byID[o.ID] = served              // want `changes the package variable byID`
	delete(byID, "")                 // want `changes the package variable byID`
	counter.Add(1)                   // want `changes the package variable counter`
	atomic.AddInt64(&raw, 1)         // want `changes the package variable raw`
	helper.Last = o.ID               // want `changes the package variable Last`
	for _, served = range []int{1} { // want `changes the package variable served`
		continue
	}
	return served, nil
}

// A closure counts, and so do deferred functions.
var Closure = orchestration.Define("closure", func(ctx *orchestration.Context, o order) (order, error) {
	defer func() { o.At = time.Now() }()  // want `uses time.Now`
	stamp := func() { o.At = time.Now() } // want `uses time.Now`
	stamp()
	return o, nil
})

func stamp(o *order) { o.At = time.Now() }

func deeper(o *order) { stamp(o) }

// Calls are followed within the package and into other packages of the module.
func follows(ctx *orchestration.Context, o order) (order, error) {
	stamp(&o)               // want `orchestration code calls stamp, which uses time.Now \(bad.go:\d+\): a replay reads another time; use ctx.Now\(\) \(clock\)`
	deeper(&o)              // want `orchestration code calls deeper, which uses time.Now \(bad.go:\d+\)`
	o.At = helper.Stamp()   // want `orchestration code calls helper.Stamp, which uses time.Now \(helper.go:\d+\): .* \(clock\)`
	o.ID = helper.Through() // want `orchestration code calls helper.Through, which uses os.Getenv .* \(io\)`
	var clock helper.Clock
	o.At = clock.Read()  // want `orchestration code calls Clock.Read, which uses time.Now`
	helper.Generic(o)    // want `orchestration code calls helper.Generic, which uses time.Now`
	o.At = other.Stamp() // calls into another module are not followed
	return o, nil
}
