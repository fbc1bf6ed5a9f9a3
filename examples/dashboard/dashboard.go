// Package dashboard shows how a service embeds the dashboard behind its own login.
package dashboard

import (
	"errors"
	"net/http"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/dashboard"
)

// User is what the service's own login knows about a request.
type User struct {
	Name string
	Ops  bool // belongs to those who operate the service
}

// Login finds the user of a request, as the service does it for its other pages.
type Login func(*http.Request) (User, bool)

var errNobody = errors.New("nobody is logged in")

// Mount serves the dashboard below /ops/perdure. Everybody who is logged in may look, and those who operate the service may act.
func Mount(mux *http.ServeMux, c *client.Client, login Login, hosts ...string) error {
	h, err := dashboard.Handler(c, dashboard.Options{
		Prefix: "/ops/perdure",
		Hosts:  hosts,
		Authorize: func(r *http.Request) (client.Principal, error) {
			user, ok := login(r)
			if !ok {
				return client.Principal{}, errNobody
			}
			p := client.Principal{Name: user.Name, Role: client.RoleViewer}
			if user.Ops {
				p.Role = client.RoleOperator
			}
			return p, nil
		},
	})
	if err != nil {
		return err
	}
	mux.Handle("/ops/perdure/", h)
	return nil
}
