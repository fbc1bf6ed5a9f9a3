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
		c.s.o.Sessions.begin(&c.s.o, c.w, c.r)
		c.redirect("/")
		return nil
	default:
		if c.r.Method == http.MethodGet { // HEAD is a look at the link, which takes nothing
			if err := c.s.wrongLogin(c.r); err != nil {
				return err
			}
		}
		return c.loginForm(http.StatusForbidden, "The link works once, within ten minutes. Log in with the token, or let the program print another link.")
	}
}

func (c *call) loginForm(status int, note string) error {
	return c.show(status, "login", view{Title: "Log in", Data: map[string]string{"Note": note, "Back": local(c.r.FormValue("back"))}})
}

// refusedForm answers a form of somebody whose session has ended. Nothing was done. The script keeps what was typed in its tab, and the way
// leads back to the form, which nobody but the reader sends again.
func (c *call) refusedForm(status int) {
	data := map[string]string{"Back": local(c.here()), "Refused": "true"}
	name := "login"
	data["Note"] = "Your session has ended, and nothing was sent. Log in, and look at the form again."
	if c.s.o.Sessions == nil {
		name, data["Note"] = "refused", "You are not logged in any more, and nothing was sent. Log in, and look at the form again."
	}
	if err := c.show(status, name, view{Title: "Log in", Data: data}); err != nil {
		c.failPage(http.StatusInternalServerError, http.StatusText(http.StatusInternalServerError))
	}
}

// login takes the token.
func (c *call) login() error {
	if c.s.o.Sessions == nil {
		return c.notFound()
	}
	c.timeLogin()
	if !c.s.o.Sessions.matches(c.r.PostFormValue("token")) {
		if err := c.s.wrongLogin(c.r); err != nil {
			return err
		}
		return c.loginForm(http.StatusForbidden, "This is not the token.")
	}
	c.s.o.Sessions.begin(&c.s.o, c.w, c.r)
	c.redirect(local(c.r.PostFormValue("back")))
	return nil
}

// wrongLogin logs a wrong token or code, and delays its answer.
func (s *server) wrongLogin(r *http.Request) error {
	if !s.o.Sessions.refused(r.Context()) {
		return refuse(http.StatusTooManyRequests, "too-many-logins", "too many wrong tokens were sent: try again in a second")
	}
	s.logger.WarnContext(r.Context(), "login to the dashboard refused", "remote", r.RemoteAddr, "path", r.URL.Path)
	return nil
}

// logout ends the session.
func (c *call) logout() error {
	if c.s.o.Sessions == nil {
		return c.notFound()
	}
	c.s.o.Sessions.end(&c.s.o, c.w, c.r)
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
