package dashboard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/client"
)

const (
	defaultSession = 12 * time.Hour
	codeTime       = 10 * time.Minute
	maxSessions    = 1000
	minToken       = 16
	// wrongTime is how late a wrong token is answered, and maxWrong how many wait so long at a time. Others are refused at once.
	wrongTime = time.Second
	maxWrong  = 16
)

// SessionOptions are the settings of Sessions.
type SessionOptions struct {
	// Principal is the one that everybody acts for who has the token.
	Principal client.Principal
	// Token is the secret, at least 16 bytes; default: a random one.
	Token string
	// Lifetime is how long somebody stays logged in; default 12 hours.
	Lifetime time.Duration
}

// Sessions lets people log in with one secret token, for a program without users of its own. A browser gets a cookie for the token, or
// for a code that works once. A program sends the token as "Authorization: Bearer TOKEN". Sessions are kept in memory: they end with the
// process. Many goroutines may use it at once.
type Sessions struct {
	o     SessionOptions
	token [sha256.Size]byte
	name  string // of the cookie

	wrong chan struct{} // has a place for each wrong token that is answered late

	mu    sync.Mutex
	open  map[[sha256.Size]byte]time.Time // until when, by the hash of the cookie
	codes map[[sha256.Size]byte]time.Time
}

// NewSessions makes Sessions. The error is client.ErrInvalid for a token that is too short, a negative lifetime, or a principal without
// a name.
func NewSessions(o SessionOptions) (*Sessions, error) {
	switch {
	case o.Principal.Name == "":
		return nil, badOption("the principal of the sessions has no name: give SessionOptions.Principal")
	case o.Token != "" && len(o.Token) < minToken:
		return nil, badOption("the token has %d bytes: give at least %d, or none for a random one", len(o.Token), minToken)
	case o.Lifetime < 0:
		return nil, badOption("the lifetime of sessions is %v: give more than zero, or 0 for %v", o.Lifetime, defaultSession)
	}
	if o.Token == "" {
		o.Token = secret()
	}
	if o.Lifetime == 0 {
		o.Lifetime = defaultSession
	}
	s := &Sessions{
		o: o, token: sha256.Sum256([]byte(o.Token)), open: map[[sha256.Size]byte]time.Time{}, codes: map[[sha256.Size]byte]time.Time{},
		wrong: make(chan struct{}, maxWrong),
	}
	// Browsers send cookies to all ports of a host. The name keeps dashboards on one host apart.
	id := sha256.Sum256(s.token[:])
	s.name = "perdure_" + hex.EncodeToString(id[:4])
	return s, nil
}

// Token returns the secret that people log in with.
func (s *Sessions) Token() string { return s.o.Token }

// Code returns a code that logs in once within ten minutes: open "/login?code=CODE" below the prefix.
func (s *Sessions) Code() string {
	code := secret()
	s.keep(s.codes, code, time.Now().Add(codeTime))
	return code
}

// authorize returns the principal of a request with a session or the token.
func (s *Sessions) authorize(r *http.Request) (client.Principal, error) {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		if s.matches(bearer) {
			return s.o.Principal, nil
		}
		return client.Principal{}, errWrong
	}
	for _, c := range r.CookiesNamed(s.name) {
		if s.live(c.Value) {
			return s.o.Principal, nil
		}
	}
	return client.Principal{}, errors.New("there is no session")
}

// errWrong refuses a token or a code.
var errWrong = errors.New("the token is wrong")

// refused delays the answer to a wrong token or code, so that guessing is slow. It reports false if too many are guessed at a time.
func (s *Sessions) refused(ctx context.Context) bool {
	select {
	case s.wrong <- struct{}{}:
		defer func() { <-s.wrong }()
	default:
		return false
	}
	wait := time.NewTimer(wrongTime)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
	return true
}

// matches compares a token with the secret in constant time.
func (s *Sessions) matches(token string) bool {
	given := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(given[:], s.token[:]) == 1
}

// live reports whether a cookie names a session that has not expired. The map is looked up by a hash, so its timing tells nothing.
func (s *Sessions) live(cookie string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.open[sha256.Sum256([]byte(cookie))]
	return ok && time.Now().Before(until)
}

// redeem takes a code, which works once.
func (s *Sessions) redeem(code string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := sha256.Sum256([]byte(code))
	until, ok := s.codes[hash]
	delete(s.codes, hash)
	return ok && time.Now().Before(until)
}

// keep stores a secret until it expires. It forgets expired ones, and the one that expires first if there are too many.
func (s *Sessions) keep(in map[[sha256.Size]byte]time.Time, secret string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first [sha256.Size]byte
	for hash, end := range in {
		if !time.Now().Before(end) {
			delete(in, hash)
		} else if at, ok := in[first]; !ok || end.Before(at) {
			first = hash
		}
	}
	if len(in) >= maxSessions {
		delete(in, first)
	}
	in[sha256.Sum256([]byte(secret))] = until
}

// begin opens a session and sets its cookie.
func (s *Sessions) begin(o *Options, w http.ResponseWriter, r *http.Request) {
	id := secret()
	s.keep(s.open, id, time.Now().Add(s.o.Lifetime))
	http.SetCookie(w, s.cookie(o, r, id, int(s.o.Lifetime/time.Second)))
}

// end closes the session of a request.
func (s *Sessions) end(o *Options, w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	for _, c := range r.CookiesNamed(s.name) {
		delete(s.open, sha256.Sum256([]byte(c.Value)))
	}
	s.mu.Unlock()
	http.SetCookie(w, s.cookie(o, r, "", -1))
}

func (s *Sessions) cookie(o *Options, r *http.Request, value string, seconds int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure where the connection is
		Name: s.name, Value: value, Path: o.Prefix + "/", MaxAge: seconds, HttpOnly: true, Secure: overTLS(o, r), SameSite: http.SameSiteStrictMode,
	}
}

// overTLS reports whether the browser uses TLS, which a proxy may end. Some of it only the client claims: a wrong claim takes the cookie away
// from nobody else.
func overTLS(o *Options, r *http.Request) bool {
	if r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://") || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		return true
	}
	return slices.ContainsFunc(o.TrustedOrigins, func(origin string) bool {
		u, err := url.Parse(origin)
		return err == nil && u.Scheme == "https" && hostOf(u.Host) == hostOf(r.Host)
	})
}

// secret returns 256 random bits as text.
func secret() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
