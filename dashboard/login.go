package dashboard

import (
	"net/http"
)

// loginPage shows the form, or takes a code of the address.
func (c *call) loginPage() error {
	if c.s.o.Sessions == nil {
		return c.notFound()
	}
	code := c.param("code")
	switch {
	case code == "":
		return c.loginForm(http.StatusOK, "")
	case c.r.Method == http.MethodGet && c.s.o.Sessions.redeem(code):
		c.s.o.Sessions.begin(c.w, c.r, c.s.o.Prefix)
		c.redirect("/")
		return nil
	default:
		return c.loginForm(http.StatusForbidden, "The link works once, within ten minutes. Log in with the token, or let the program print another link.")
	}
}

func (c *call) loginForm(status int, note string) error {
	return c.show(status, "login", view{Title: "Log in", Data: map[string]string{"Note": note, "Back": local(c.r.FormValue("back"))}})
}

// login takes the token.
func (c *call) login() error {
	if c.s.o.Sessions == nil {
		return c.notFound()
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, 64<<10)
	if !c.s.o.Sessions.matches(c.r.PostFormValue("token")) {
		return c.loginForm(http.StatusForbidden, "This is not the token.")
	}
	c.s.o.Sessions.begin(c.w, c.r, c.s.o.Prefix)
	c.redirect(local(c.r.PostFormValue("back")))
	return nil
}

// logout ends the session.
func (c *call) logout() error {
	if c.s.o.Sessions == nil {
		return c.notFound()
	}
	c.s.o.Sessions.end(c.w, c.r, c.s.o.Prefix)
	c.redirect("/login")
	return nil
}

// metrics serves what the service gave for it.
func (c *call) metrics() error {
	if c.s.o.Metrics == nil {
		return refuse(http.StatusNotFound, "not-found", "the dashboard has no metrics: set Options.Metrics")
	}
	c.s.o.Metrics.ServeHTTP(c.w, c.r)
	return nil
}
