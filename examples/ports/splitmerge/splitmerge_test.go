package splitmerge_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/splitmerge"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// count takes as many hours as the name of the file says.
func count(_ context.Context, file string) (map[string]int, error) {
	hours, err := time.ParseDuration(file)
	time.Sleep(hours) // takes no real time in the bubble of the test
	return map[string]int{"all": 1, file: 1}, err
}

func TestParts(t *testing.T) {
	for name, merge := range map[string]func(*orchestration.Context, []string) (map[string]int, error){
		"in order": splitmerge.InOrder, "as they come": splitmerge.AsTheyCome,
	} {
		t.Run(name, func(t *testing.T) {
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				orchestrationtest.Replace(e, splitmerge.Count, count)
				began := time.Now()
				got, err := orchestrationtest.Start(e, merge, []string{"3h", "1h", "2h"}).Wait(e.Context())
				if want := map[string]int{"all": 3, "1h": 1, "2h": 1, "3h": 1}; !maps.Equal(got, want) || err != nil {
					t.Errorf("%v, %v", got, err)
				}
				if took := time.Since(began); took != 3*time.Hour {
					t.Errorf("it took %v, the longest part takes 3h", took)
				}
			})
		})
	}
}

func TestSumSoFar(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, splitmerge.Count, count)
		h := orchestrationtest.Start(e, splitmerge.AsTheyCome, []string{"3h", "1h"})
		e.After(2*time.Hour, func() error {
			sum, err := client.StatusOf[map[string]int](e.Context(), h.Handle)
			if want := map[string]int{"all": 1, "1h": 1}; !maps.Equal(sum, want) {
				t.Errorf("after two hours the sum is %v, want %v", sum, want)
			}
			return err
		})
		if _, err := h.Wait(e.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(file, []byte("to be or not\nto be"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := splitmerge.Count(t.Context(), file); !maps.Equal(got, map[string]int{"to": 2, "be": 2, "or": 1, "not": 1}) || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
