package expense_test

import (
	"context"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/expense"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestExpense(t *testing.T) {
	const day = 24 * time.Hour
	for want, c := range map[string]struct {
		decided  time.Duration // after the start; 0: never
		approved bool
		pages    []string
	}{
		"paid":     {20 * day, true, []string{"submit", "decide", "pay"}},
		"rejected": {20 * day, false, []string{"submit", "decide"}},
		"expired":  {0, false, []string{"submit", "decide"}},
	} {
		t.Run(want, func(t *testing.T) {
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				var pages []string
				token := ""
				office := &expense.Office{Post: func(_ context.Context, page string, form url.Values) error {
					pages = append(pages, page)
					if page == "decide" {
						token = form.Get("token")
					}
					return nil
				}}
				orchestrationtest.AddActivity(e, office.Submit)
				orchestrationtest.AddActivity(e, office.Decide)
				orchestrationtest.AddActivity(e, office.Pay)
				h := orchestrationtest.Start(e, expense.Expense, "7")
				if c.decided > 0 {
					e.After(c.decided, func() error { return client.CompleteActivity(e.Context(), e.Client(), token, c.approved) })
				}
				got, err := h.Wait(e.Context())
				if got != want || err != nil || !slices.Equal(pages, c.pages) {
					t.Errorf("%q, %v after the pages %v", got, err, pages)
				}
			})
		})
	}
}
