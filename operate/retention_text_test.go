package operate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
)

func TestParseRetentionRule(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	failed := []client.Status{client.StatusFailed}
	for text, want := range map[string]operate.RetentionRule{
		"720h":                   {Age: 30 * day},
		"forever":                {Age: orchestration.Off},
		"=24h":                   {Age: day},
		"Order=24h":              {Names: []string{"Order"}, Age: day},
		"a=b=24h":                {Names: []string{"a=b"}, Age: day},
		"Order:failed=forever":   {Names: []string{"Order"}, Statuses: failed, Age: orchestration.Off},
		":FAILED=24h":            {Statuses: failed, Age: day},
		"shop:Order:Failed=24h":  {Names: []string{"shop:Order"}, Statuses: failed, Age: day},
		"shop:Order:=24h":        {Names: []string{"shop:Order"}, Age: day},
		"shop:Failed:=24h":       {Names: []string{"shop:Failed"}, Age: day},
		"forever=24h":            {Names: []string{"forever"}, Age: day},
		"an order of mine=1440m": {Names: []string{"an order of mine"}, Age: day},
	} {
		if got, err := operate.ParseRetentionRule(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v, %s", text, err, cmp.Diff(want, got))
		}
	}
	const form = "give AGE, NAME=AGE, NAME:STATUS=AGE or :STATUS=AGE, with an age such as 720h or forever"
	const statuses = "has no status behind the colon: give Completed, Failed, Cancelled or Terminated, or end a name that has colons with one"
	for text, want := range map[string]string{
		"":                  `rule "": ` + form,
		"Order":             `rule "Order": ` + form,
		"Order=":            `rule "Order=": ` + form,
		"Order=soon":        `rule "Order=soon": ` + form,
		"Order=30d":         `rule "Order=30d": ` + form,
		"Order:Running=24h": `rule for "Order:Running" ` + statuses,
		"shop:Order=24h":    `rule for "shop:Order" ` + statuses,
	} {
		if got, err := operate.ParseRetentionRule(text); err == nil || err.Error() != want || !cmp.Equal(got, operate.RetentionRule{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// The texts of a rule stand for it, whatever its names have in them.
func TestTextsOfARetentionRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rule := operate.RetentionRule{
			Names:    rapid.SliceOfNDistinct(rapid.StringMatching(`[aF:=" é]{1,4}|Failed|forever|24h`), 0, 2, rapid.ID).Draw(t, "names"),
			Statuses: rapid.SliceOfNDistinct(rapid.SampledFrom([]client.Status{client.StatusFailed, client.StatusCompleted}), 0, 2, rapid.ID).Draw(t, "statuses"),
			Age:      rapid.SampledFrom([]time.Duration{orchestration.Off, 24 * time.Hour, 36*time.Hour + time.Second}).Draw(t, "age"),
		}
		texts := rule.Texts()
		if want := max(1, len(rule.Names)) * max(1, len(rule.Statuses)); len(texts) != want {
			t.Fatalf("%d texts, want %d", len(texts), want)
		}
		i := 0
		for _, name := range orNothing(rule.Names) {
			for _, status := range orNothing(rule.Statuses) {
				got, err := operate.ParseRetentionRule(texts[i])
				if want := (operate.RetentionRule{Names: name, Statuses: status, Age: rule.Age}); err != nil || !cmp.Equal(got, want) {
					t.Fatalf("%q: %v, %s", texts[i], err, cmp.Diff(want, got))
				}
				i++
			}
		}
	})
}

// orNothing returns each of some values alone, or nothing once if there are none.
func orNothing[T any](values []T) [][]T {
	if len(values) == 0 {
		return [][]T{nil}
	}
	var each [][]T
	for _, v := range values {
		each = append(each, []T{v})
	}
	return each
}
