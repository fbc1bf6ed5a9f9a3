// Package splitmerge counts words in many files at a time and adds the counts up. orchestration.StartActivity and All merge in the order
// of the input. An orchestration.Group merges each part as soon as it is there, and Context.SetStatus shows the sum so far.
package splitmerge

import (
	"context"
	"os"
	"strings"

	"github.com/perdure/perdure/orchestration"
)

// Count counts the words in a file.
func Count(_ context.Context, file string) (map[string]int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for word := range strings.FieldsSeq(string(text)) {
		counts[word]++
	}
	return counts, nil
}

// InOrder merges when all parts are there.
func InOrder(ctx *orchestration.Context, files []string) (map[string]int, error) {
	futures := make([]orchestration.Future[map[string]int], len(files))
	for i, file := range files {
		futures[i] = orchestration.StartActivity(ctx, Count, file)
	}
	parts, err := orchestration.All(ctx, futures...)
	total := map[string]int{}
	for _, part := range parts {
		add(total, part)
	}
	return total, err
}

// AsTheyCome merges each part at once. Coroutines never run at the same time, so they may share the sum.
func AsTheyCome(ctx *orchestration.Context, files []string) (map[string]int, error) {
	total := map[string]int{}
	g := orchestration.NewGroup(ctx)
	for _, file := range files {
		g.Go(func(ctx *orchestration.Context) error {
			part, err := orchestration.CallActivity(ctx, Count, file)
			add(total, part)
			ctx.SetStatus(total)
			return err
		})
	}
	return total, g.Wait()
}

func add(total, part map[string]int) {
	for word, n := range part {
		total[word] += n
	}
}
