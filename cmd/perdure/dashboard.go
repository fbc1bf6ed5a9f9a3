package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/dashboard"
	"github.com/perdure/perdure/provider"
)

// defaultListen is where the dashboard listens.
const defaultListen = "127.0.0.1:7333"

// Times of the server. A request may wait for 20 s.
const (
	headerTime = 10 * time.Second
	closeTime  = 5 * time.Second
)

// siteFlags are the flags of the dashboard.
type siteFlags struct {
	listen    string
	prefix    string
	hosts     []string
	origins   []string
	role      string
	tokenFile string
	session   time.Duration
	header    string
	proxies   []string
	users     []string
	others    string
	hide      bool
}

func newDashboard(a *app) *cobra.Command {
	var f siteFlags
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Serve the dashboard and its API to a browser",
		Long: "Dashboard serves a database in the browser, with an HTTP API under /api/v1. It prints a URL that logs in once, within\n" +
			"ten minutes, and the token for later. With --token-file it reads the token from a file. Everybody with the token acts as\n" +
			"the user who runs this command, with the role of --role.\n\n" +
			"Prometheus scrapes /metrics with the token: what waits, is blocked or unserved, and dead letters. Counters come from nodes.\n\n" +
			"Behind a proxy that has authenticated the user, give --trust-header and --trusted-proxy, and the users with --user or\n" +
			"--other-users. The dashboard itself speaks plain HTTP: let a proxy add TLS where it is reached from other machines.",
		Example: "  perdure dashboard --db app.db\n" +
			"  perdure dashboard --listen 0.0.0.0:7333 --host ops.example.com --token-file /run/secrets/perdure\n" +
			"  perdure dashboard --trust-header X-Forwarded-User --trusted-proxy 10.0.0.7/32 --user ann=admin --other-users viewer",
		Args: arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(cmd.Context(), database.open, func(ctx context.Context, store provider.Provider) error {
				c, err := client.New(store, a.clientOptions())
				if err != nil {
					return err
				}
				listener, err := f.bind(ctx)
				if err != nil {
					return err
				}
				return a.serve(ctx, cmd, c, newStoreMetrics(c, a.logger), &f, listener)
			})
		},
	}
	f.add(cmd)
	return cmd
}

// add adds the flags to a command.
func (f *siteFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", defaultListen, "address and port to listen at; port 0 takes a free one")
	flags.StringVar(&f.prefix, "prefix", "", "path below which it is served, such as /perdure")
	flags.StringArrayVar(&f.hosts, "host", nil, "name that browsers use for it, beside loopback names; may be given several times")
	flags.StringArrayVar(&f.origins, "trusted-origin", nil, "origin whose pages may act, such as https://ops.example.com; may be given several times")
	flags.StringVar(&f.role, "role", client.RoleAdmin.String(), "role of those who log in with the token: viewer, operator or admin")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with the token; without it the token is random")
	flags.DurationVar(&f.session, "session", 12*time.Hour, "how long somebody stays logged in")
	flags.StringVar(&f.header, "trust-header", "", "header in which a proxy names the user, instead of a token")
	flags.StringArrayVar(&f.proxies, "trusted-proxy", nil, "network of the proxy, such as 10.0.0.7/32; may be given several times")
	flags.StringArrayVar(&f.users, "user", nil, "user of the proxy and role, such as ann=admin; may be given several times")
	flags.StringVar(&f.others, "other-users", "", "role of the proxy's other users; without it they have no access")
	flags.BoolVar(&f.hide, "hide-payloads", false, "never show inputs, outputs and values")
}

// options returns the settings of the dashboard, and its sessions if people log in with a token.
func (f *siteFlags) options(listen net.Addr, logger *slog.Logger, readOnly bool) (o dashboard.Options, err error) {
	o = dashboard.Options{
		Prefix: f.prefix, TrustedOrigins: f.origins, HidePayloads: f.hide, ReadOnly: readOnly, Logger: logger,
		Hosts: append([]string{"localhost", "127.0.0.1", "::1"}, f.hosts...),
	}
	if tcp, ok := listen.(*net.TCPAddr); ok && !tcp.IP.IsUnspecified() {
		o.Hosts = append(o.Hosts, tcp.IP.String())
	}
	if f.header != "" || len(f.proxies) > 0 || len(f.users) > 0 || f.others != "" {
		o.Authorize, err = f.proxy()
		return o, err
	}
	var role client.Role
	if err := role.UnmarshalText([]byte(f.role)); err != nil {
		return o, badUsage("flag --role: %w", err)
	}
	s := dashboard.SessionOptions{Principal: client.Principal{Name: shellUser().Name, Role: role}, Lifetime: f.session}
	if f.tokenFile != "" {
		data, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return o, fmt.Errorf("reading the token: %w", err)
		}
		if s.Token = string(bytes.TrimSpace(data)); s.Token == "" {
			return o, badUsage("flag --token-file: the file is empty: write at least 16 random characters into it")
		}
	}
	if o.Sessions, err = dashboard.NewSessions(s); err != nil {
		return o, badUsage("%w", err)
	}
	return o, nil
}

// proxy returns the check of a header that a proxy sets.
func (f *siteFlags) proxy() (func(*http.Request) (client.Principal, error), error) {
	t := dashboard.TrustedHeader{Name: f.header, Roles: map[string]client.Role{}, AdmitOthers: f.others != ""}
	for _, text := range f.proxies {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, badUsage("flag --trusted-proxy is %q: give an address and a length, such as 10.0.0.7/32", text)
		}
		t.Proxies = append(t.Proxies, network)
	}
	for _, text := range f.users {
		name, role, found := strings.Cut(text, "=")
		r := client.RoleViewer
		if !found || name == "" || r.UnmarshalText([]byte(role)) != nil {
			return nil, badUsage("flag --user is %q: give NAME=ROLE with the role viewer, operator or admin", text)
		}
		t.Roles[name] = r
	}
	if t.AdmitOthers {
		if err := t.Others.UnmarshalText([]byte(f.others)); err != nil {
			return nil, badUsage("flag --other-users: %w", err)
		}
	}
	authorize, err := dashboard.AuthorizeHeader(t)
	if err != nil {
		return nil, badUsage("%w", err)
	}
	return authorize, nil
}

// served is what the command prints when the dashboard can be opened.
type served struct {
	URL   string `json:"url"`
	Login string `json:"login,omitempty"` // works once, within ten minutes
	Token string `json:"token,omitempty"` // if it is random
}

// bind listens at the address of the flag --listen.
func (f *siteFlags) bind(ctx context.Context) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, badUsage("another process listens at %s already: choose another port with --listen, or a free one with --listen %s", f.listen, freePort(f.listen))
	case err != nil:
		return nil, badUsage("flag --listen is %q: %w: give an address of this machine with a port, such as %s", f.listen, err, defaultListen)
	}
	return listener, nil
}

// freePort returns the address with port 0.
func freePort(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host, _, _ = net.SplitHostPort(defaultListen)
	}
	return net.JoinHostPort(host, "0")
}

// serve serves the dashboard, with metrics, until the context ends. It closes the listener.
func (a *app) serve(ctx context.Context, cmd *cobra.Command, c *client.Client, metrics http.Handler, f *siteFlags, listener net.Listener) error {
	o, err := f.options(listener.Addr(), a.logger, a.readOnly)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	o.Metrics = metrics
	h, err := dashboard.Handler(c, o)
	if err != nil {
		return errors.Join(badUsage("%w", err), listener.Close())
	}
	root := "http://" + openable(listener.Addr()) + f.prefix
	line := served{URL: root + "/"}
	if o.Sessions != nil {
		line.Login = root + "/login?code=" + o.Sessions.Code()
		if f.tokenFile == "" {
			line.Token = o.Sessions.Token()
		}
	}
	if err := a.show(cmd, line, func(w *grid) { line.write(w) }); err != nil {
		return errors.Join(err, listener.Close())
	}
	return serveUntil(ctx, listener, h)
}

func (s *served) write(w *grid) {
	if s.Login == "" {
		row(w, "dashboard", s.URL)
		return
	}
	row(w, "open", s.Login)
	row(w, "", "It works once, within ten minutes.")
	if s.Token != "" {
		row(w, "token", s.Token)
		row(w, "", "For later at "+s.URL)
	}
}

// openable returns the address that a browser on this machine can open.
func openable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	return addr.String()
}

// serveUntil serves a handler until the context ends, which also ends requests that wait.
func serveUntil(ctx context.Context, listener net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: headerTime, BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving the dashboard: %w", err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := server.Shutdown(closing); err != nil {
		_ = server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the dashboard: %w", err)
	}
	return nil
}
