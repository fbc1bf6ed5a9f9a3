// Package dashboard serves a store in the browser: pages for people under "/", and an HTTP API for programs under "/api/v1".
//
//	h, err := dashboard.Handler(c, dashboard.Options{
//		Prefix:    "/ops/perdure",
//		Hosts:     []string{"ops.example.com"},
//		Authorize: func(r *http.Request) (client.Principal, error) { ... },
//	})
//	mux.Handle("/ops/perdure/", h)
//
// It uses only the client, so it runs in any process that can open the store. It needs no build step, loads nothing from elsewhere and
// starts no goroutine. The pages work without JavaScript; with it they are live.
//
// # Access
//
// Options.Authorize names the principal of a request. Its role is checked at the route, and again by the client at each act. All acts are in
// the audit. Without Authorize the handler only reads, shows neither payloads nor texts of errors, and refuses requests that came through a
// proxy. Sessions and TrustedHeader are ready-made ways to authorize.
//
// Requests must name a host of Options.Hosts, so that a page of another site cannot reach the dashboard through its own name. Requests
// that change something must come from a page of the dashboard itself or of Options.TrustedOrigins, or from a program that is no browser. A form
// is refused if it was opened by another principal than the one that it is sent by.
//
// # Shutdown
//
// A request waits at most 20 s for something to change. It ends earlier when its context does. Set http.Server.BaseContext to a context
// that ends before Shutdown, or give Shutdown more than 20 s.
package dashboard
