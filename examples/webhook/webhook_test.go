package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/webhook"
	"github.com/perdure/perdure/orchestrationtest"
)

// click does what the person does, and returns what the server answers.
func click(ctx context.Context, server http.Handler, token string) string {
	form := url.Values{"token": {token}, "by": {"ann"}, "approved": {"yes"}}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/decide", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
}

// ask starts an expense, and returns the token in the mail.
func ask(t *testing.T, e *orchestrationtest.Env) (h orchestrationtest.Handle[string], token string) {
	t.Helper()
	mail := ""
	desk := &webhook.Desk{URL: "https://shop.example", Mail: func(_ context.Context, text string) error {
		mail = text
		return nil
	}}
	orchestrationtest.AddActivity(e, desk.Approve)
	h = orchestrationtest.Start(e, webhook.Expense, 4200)
	e.Sleep(0)
	text, token, _ := strings.Cut(mail, "?token=")
	if text != "approve 4200 cents? https://shop.example/decide" {
		t.Errorf("the mail is %q", mail)
	}
	return h, token
}

func TestDecisionAfterSixDays(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h, token := ask(t, e)
		server := webhook.Decide(e.Client())
		clicked := func(token, want string) {
			t.Helper()
			if got := click(e.Context(), server, token); got != want {
				t.Errorf("the server answers %q, want %q", got, want)
			}
		}
		e.Sleep(6 * 24 * time.Hour)
		clicked(token, "200 thank you")
		if out, err := h.Wait(e.Context()); out != "approved by ann" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		clicked(token, "410 already decided")
		clicked(token[1:], "400 invalid link")
	})
}

func TestDecisionAfterAWeekIsTooLate(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h, token := ask(t, e)
		if out, err := h.Wait(e.Context()); out != "no decision" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		if got := click(e.Context(), webhook.Decide(e.Client()), token); got != "410 already decided" {
			t.Errorf("the server answers %q", got)
		}
	})
}
