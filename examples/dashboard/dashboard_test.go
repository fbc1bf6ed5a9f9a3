package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/perdure/perdure/examples/approval"
	"github.com/perdure/perdure/examples/dashboard"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestUsersHaveTheRightsOfTheService(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, approval.Expense, 4200)

		// The login of a real service reads its session.
		login := func(r *http.Request) (dashboard.User, bool) {
			name, _, ok := r.BasicAuth()
			return dashboard.User{Name: name, Ops: name == "ann"}, ok
		}
		mux := http.NewServeMux()
		if err := dashboard.Mount(mux, e.Client(), login, "ops.example.com"); err != nil {
			t.Fatal(err)
		}
		for user, want := range map[string]int{"": http.StatusUnauthorized, "bob": http.StatusForbidden, "ann": http.StatusNoContent} {
			path := "http://ops.example.com/ops/perdure/api/v1/instances/" + h.Key().String() + "/cancel"
			r := httptest.NewRequestWithContext(e.Context(), http.MethodPost, path, nil)
			if user != "" {
				r.SetBasicAuth(user, "secret")
			}
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%q: %d, want %d", user, w.Code, want)
			}
		}
	})
}
