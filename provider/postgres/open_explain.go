package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/perdure/perdure/provider"
)

// openError is the reason why a store could not be opened, with advice. It never shows a password.
type openError struct {
	text string
	err  error
}

func (e *openError) Error() string { return e.text }

func (e *openError) Unwrap() error { return e.err }

// notOpened returns an error that names the database that could not be opened, and why.
func notOpened(c *pgx.ConnConfig, err error) error {
	port := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	where := url.URL{Scheme: "postgres", User: url.User(c.User), Host: port, Path: c.Database}
	text := fmt.Sprintf("open %s: %s", where.String(), reason(err))
	if do := advice(err); do != "" {
		text += "; " + do
	}
	return &openError{text, err}
}

// reason returns err in one line, without the parts that do not help.
func reason(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fmt.Sprintf("%s (SQLSTATE %s)", e.Message, e.Code)
	}
	if e, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return strings.Join(attempts(e.Unwrap()), "; ")
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// attempts returns how each connection attempt failed. Some are tried with TLS and without.
func attempts(err error) (texts []string) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	for _, e := range joined.Unwrap() {
		if text := e.Error(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// advice returns what to do about an error of opening, "" if the error says it.
func advice(err error) string {
	switch state := sqlState(err); state {
	case "28P01", "28000":
		return "check user and password, and that the server lets this user in from here"
	case "3D000":
		return "create the database, or name another one"
	case stateForbidden:
		if e, ok := errors.AsType[*provider.Error](err); ok && e.Op == opMigrate {
			return "run `perdure migrate up` with a role that may create schema and tables"
		}
		return "the owner of the tables must grant the role what it needs: see Grants, or `perdure migrate grants`"
	case stateNoStatement, stateTwice:
		return setPooler
	case "57P03":
		return "wait until the server takes connections"
	case "53300":
		return "let the server take more connections, or give the pools fewer"
	case "":
	default:
		return ""
	}
	if _, waited := errors.AsType[*waitError](err); waited {
		return ""
	}
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting {
		return "check host, port and sslmode, and that the server runs"
	}
	if errors.Is(err, context.DeadlineExceeded) { // also when a server is connected, but slow
		return "check host, port and sslmode, that the server runs, and that the timeout leaves it time to answer"
	}
	return ""
}

// badURL describes what is wrong with a connection string without showing it. If it cannot be parsed, nobody knows
// which part of it is the password.
func badURL(text string, err error) error {
	why := "it must be of the form postgres://user@host:port/database, with special characters of user and password written as %XX"
	const mark = "`: " // no part of the string follows it
	if at := strings.LastIndex(err.Error(), mark); at >= 0 && readable(text) {
		why = err.Error()[at+len(mark):]
	}
	return fmt.Errorf("%w: the URL cannot be read: %s", provider.ErrInvalid, why)
}

// readable reports whether it is beyond doubt what each part of a URL is.
func readable(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" || !strings.HasPrefix(u.Scheme, "postgres") {
		return false
	}
	_, err = url.ParseQuery(u.RawQuery)
	return err == nil
}
