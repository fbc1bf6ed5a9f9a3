package dashboard_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/approval"
	"github.com/perdure/perdure/examples/dashboard"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/runtime"
)

func Example() {
	ctx := context.Background()
	c, stop := local.Start(func(reg *runtime.Registry) {
		if err := runtime.AddOrchestration(reg, approval.Expense); err != nil {
			log.Panic(err)
		}
	})
	defer stop()
	h, err := client.Start(ctx, c, approval.Expense, 4200, client.WithID("expense-7"))
	if err != nil {
		log.Panic(err)
	}

	// The login of a real service reads its session.
	login := func(r *http.Request) (dashboard.User, bool) {
		name, _, ok := r.BasicAuth()
		return dashboard.User{Name: name, Ops: name == "ann"}, ok
	}
	mux := http.NewServeMux()
	if err := dashboard.Mount(mux, c, login, "ops.example.com"); err != nil {
		log.Panic(err)
	}

	for _, user := range []string{"", "bob", "ann"} {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://ops.example.com/ops/perdure/api/v1/instances/"+h.Key().String()+"/cancel", nil)
		if user != "" {
			r.SetBasicAuth(user, "secret")
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Printf("%q: %d\n", user, w.Code)
	}
	// Output:
	// "": 401
	// "bob": 403
	// "ann": 204
}
