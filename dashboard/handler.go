package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// server is what all requests share. It does not change after Handler, but for the cache.
type server struct {
	o         Options
	client    *client.Client // with all rights: only As makes use of it
	authorize func(*http.Request) (client.Principal, error)
	hosts     map[string]bool
	anyHost   bool
	origins   *http.CrossOriginProtection
	logger    *slog.Logger
	pages     templates
	assets    assets
	titles    map[string]string // of acts, by name
	counts    *cache[[]statusCount]
	seen      *cache[overviewData]
	incidents *cache[*operate.Incident]
	searches  *searches
	figures   map[client.FiguresWindow]*cache[*client.Figures]
}

// Handler returns a handler of the dashboard and of its API. It touches the store only for requests. The client must have all rights: the
// handler takes that of each principal by Client.As.
//
// The error is client.ErrInvalid for an invalid option, and errors.ErrUnsupported for a store without provider.Keeper, which has no audit.
func Handler(c *client.Client, o Options) (http.Handler, error) {
	if err := o.check(c); err != nil {
		return nil, err
	}
	if _, err := c.As(client.Principal{Name: "anonymous"}); err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	origins, err := protection(o.TrustedOrigins)
	if err != nil {
		return nil, err
	}
	s := &server{o: o, client: c, authorize: o.Authorize, origins: origins, logger: cmp.Or(o.Logger, slog.Default())}
	s.hosts, s.anyHost = hostsOf(o.Hosts)
	if o.Sessions != nil {
		s.authorize = o.Sessions.authorize
	}
	s.counts, s.seen, s.incidents = newCache[[]statusCount](countTime), newCache[overviewData](countTime), newCache[*operate.Incident](incidentTime)
	s.searches = newSearches()
	s.figures = map[client.FiguresWindow]*cache[*client.Figures]{}
	for _, w := range []client.FiguresWindow{client.FiguresHour, client.FiguresDay, client.FiguresWeek} {
		s.figures[w] = newCache[*client.Figures](countTime)
	}
	if s.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if s.pages, err = loadTemplates(); err != nil {
		return nil, err
	}
	s.titles = map[string]string{}
	for _, a := range acts() {
		s.titles[a.id()] = a.title
	}
	mux := http.NewServeMux()
	for _, rt := range routes() {
		mux.Handle(rt.method+" "+o.Prefix+rt.pattern, s.handle(&rt))
	}
	nowhere := route{method: http.MethodGet, serve: (*call).notFound}
	mux.Handle(o.Prefix+"/", s.handle(&nowhere))
	return s.guard(mux), nil
}

// guard sets the headers of every response and refuses what no route would take.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		c := s.newCall(w, r)
		c.timeBody()
		if err := s.admit(r); err != nil {
			c.fail(err) //nolint:contextcheck // a call has the context of its request
			return
		}
		next.ServeHTTP(w, r)
	})
}

// handle serves a route: it finds the principal and calls the route's function.
func (s *server) handle(rt *route) http.Handler {
	rt = new(*rt)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := s.newCall(w, r)
		c.route = rt
		err := c.enter()
		if err == nil {
			err = rt.serve(c)
		}
		if err != nil {
			c.fail(err) //nolint:contextcheck // a call has the context of its request
		}
	})
}

// fail sends an error.
func (c *call) fail(err error) {
	status, code := classify(err)
	if status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable && c.r.Context().Err() == nil {
		c.s.logger.ErrorContext(c.r.Context(), "request to the dashboard failed", "path", c.r.URL.Path, "error", err)
	}
	text := c.errorText(err)
	if r, ok := errors.AsType[*refusal](err); ok {
		text = r.text
	} else if !c.texts {
		text = http.StatusText(status)
	}
	switch {
	case c.isAPI():
		c.problem(status, code, text)
	case unauthorized(err) && c.s.o.Sessions != nil && safe(c.r.Method) && c.r.Header.Get(fragmentHeader) == "":
		c.redirect("/login?back=" + escapeQuery(c.here()))
	case unauthorized(err) && !safe(c.r.Method):
		c.refusedForm(status)
	default:
		c.failPage(status, text)
	}
}
