package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/examples/webhook"
	"github.com/perdure/perdure/runtime"
)

func Example() {
	ctx := context.Background()
	mails := make(chan string, 1)
	desk := &webhook.Desk{URL: "https://shop.example", Mail: func(_ context.Context, text string) error {
		mails <- text
		return nil
	}}
	c, stop := local.Start(func(reg *runtime.Registry) {
		if err := errors.Join(runtime.AddOrchestration(reg, webhook.Expense), runtime.AddActivity(reg, desk.Approve)); err != nil {
			log.Panic(err)
		}
	})
	defer stop()
	server := httptest.NewServer(webhook.Decide(c))
	defer server.Close()

	h, err := client.Start(ctx, c, webhook.Expense, 4200)
	if err != nil {
		log.Panic(err)
	}
	text, token, _ := strings.Cut(<-mails, "?token=")
	fmt.Println(text)
	click(server.URL, token)
	fmt.Println(h.Wait(ctx))
	click(server.URL, token)
	click(server.URL, token[1:])
	// Output:
	// approve 4200 cents? https://shop.example/decide
	// 200 OK: thank you
	// approved by ann <nil>
	// 410 Gone: already decided
	// 400 Bad Request: invalid link
}

// click does what the person does.
func click(server, token string) {
	res, err := http.PostForm(server, url.Values{"token": {token}, "by": {"ann"}, "approved": {"yes"}})
	if err != nil {
		log.Panic(err)
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		log.Panic(err)
	}
	fmt.Printf("%s: %s", res.Status, body)
	http.DefaultClient.CloseIdleConnections()
}
