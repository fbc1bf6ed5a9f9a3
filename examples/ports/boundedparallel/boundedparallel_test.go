package boundedparallel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/boundedparallel"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// hours takes as many hours as the name of the file says, which it returns.
func hours(_ context.Context, file string) (string, error) {
	d, err := time.ParseDuration(file + "h")
	time.Sleep(d) // takes no real time in the bubble of the test
	return file, err
}

// A file of seven hours keeps one place. The other ten take the four others for two hours each, in three rounds.
func TestFiveFilesAtATime(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, boundedparallel.Upload, hours)
		orchestrationtest.Replace(e, boundedparallel.Check, func(_ context.Context, table string) (int, error) { return len(table), nil })
		files := append([]string{"7"}, slices.Repeat([]string{"2.0"}, 10)...)
		began := time.Now()
		got, err := orchestrationtest.Start(e, boundedparallel.Import, files).Wait(e.Context())
		if want := append([]int{1}, slices.Repeat([]int{3}, 10)...); !slices.Equal(got, want) || err != nil {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
		if took := time.Since(began); took != 7*time.Hour {
			t.Errorf("it took %v, want 7h", took)
		}
	})
}

func TestFirstFailureEndsTheImport(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, boundedparallel.Upload, func(ctx context.Context, file string) (string, error) {
			if file == "bad" {
				return "", orchestration.NonRetryable(errors.New("no such file"))
			}
			<-ctx.Done() // until the import ends
			return "", context.Cause(ctx)
		})
		files := []string{"a", "b", "bad", "c", "d", "e", "f"}
		h := orchestrationtest.Start(e, boundedparallel.Import, files)
		_, err := h.Wait(e.Context())
		calls := 0
		for _, event := range e.History(h) {
			if event.Kind == "ActivityScheduled" {
				calls++
			}
		}
		if err == nil || !strings.Contains(err.Error(), "file bad: no such file") || calls != boundedparallel.AtOnce {
			t.Errorf("%v, %d files begun", err, calls)
		}
		if text := fmt.Sprint(err); strings.Contains(text, "cancelled") {
			t.Errorf("it names what it has cancelled: %s", text)
		}
	})
}
