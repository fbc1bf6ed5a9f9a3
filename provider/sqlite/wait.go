package sqlite

import (
	"errors"
	"fmt"
	"time"
)

var (
	errLine  = errors.New("another transaction of this process has the file")
	errLeave = errors.New("the wait was ended")
)

// waitFor waits for a channel, for no longer than patience.
func waitFor(done <-chan struct{}, patience time.Duration, quits []<-chan struct{}) error {
	var quit [2]<-chan struct{}
	copy(quit[:], quits)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("after %v: %w", patience, errLine)
	case <-quit[0]:
	case <-quit[1]:
	}
	return errLeave
}
