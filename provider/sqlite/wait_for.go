package sqlite

import (
	"errors"
	"fmt"
	"time"
)

var (
	errQueueBusy = errors.New("another transaction of this process has the file")
	errWaitEnded = errors.New("the wait was ended")
)

// waitFor waits for a channel, for no longer than the timeout.
func waitFor(done <-chan struct{}, timeout time.Duration, quits []<-chan struct{}) error {
	var quit [2]<-chan struct{}
	copy(quit[:], quits)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("after %v: %w", timeout, errQueueBusy)
	case <-quit[0]:
	case <-quit[1]:
	}
	return errWaitEnded
}
