// Package dbname reads the name of a database as command lines take it: the path of a SQLite file, or the URL of a Postgres
// server. It hides passwords in what is printed.
package dbname

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// schemaParameter names the schema in a URL, so that one string names the store. Postgres has no such parameter.
const schemaParameter = "schema"

// Server is a schema of a Postgres database.
type Server struct {
	Given  string // the whole name
	URL    string // for the driver
	Schema string // "" means the default one
}

// Parse returns the server that a name is the URL of. For the path of a SQLite file isServer is false. Its errors contain
// no password.
func Parse(name string) (s Server, isServer bool, err error) {
	scheme, _, isURL := strings.Cut(strings.ToLower(name), "://")
	switch {
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		s, err = parseServer(name)
		return s, err == nil, err
	case isURL && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+") == "" && scheme != "file",
		strings.HasPrefix(scheme, "postgres:"), strings.HasPrefix(scheme, "postgresql:"), strings.Contains(scheme, "password="):
		return Server{}, false, errors.New("not a database name: give the path of a SQLite file, or a URL such as postgres://user@host/database")
	}
	return Server{}, false, nil
}

func parseServer(given string) (Server, error) {
	address, query, _ := strings.Cut(given, "?")
	parameters, ok := parseParameters(query)
	schemas := parameters[schemaParameter]
	switch {
	case !ok:
		return Server{}, errors.New("the URL of the database is invalid: write special characters after the question mark as %XX")
	case len(schemas) == 0:
		return Server{Given: given, URL: given}, nil
	case len(schemas) > 1 || schemas[0] == "":
		return Server{}, errors.New("the URL of the database must name one schema: schema=NAME")
	}
	parameters.Del(schemaParameter)
	return Server{Given: given, URL: address + "?" + encodeParameters(parameters), Schema: schemas[0]}, nil
}

// parseParameters parses the query of a Postgres URL, in which + is a plus sign and %20 a space. It returns no error, since
// one would quote the query.
func parseParameters(query string) (parameters url.Values, ok bool) {
	parameters, err := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B"))
	return parameters, err == nil
}

func encodeParameters(parameters url.Values) string {
	return strings.ReplaceAll(parameters.Encode(), "+", "%20")
}

// With returns the URL for the driver with its parameters changed.
func (s Server) With(change func(parameters url.Values)) (string, error) {
	address, query, _ := strings.Cut(s.URL, "?")
	parameters, ok := parseParameters(query)
	if !ok {
		return "", errors.New("the URL of the database is invalid")
	}
	change(parameters)
	return address + "?" + encodeParameters(parameters), nil
}

// InSchema returns the same server with another schema. s names none.
func (s Server) InSchema(schema string) (Server, error) {
	parameter := "?"
	if strings.Contains(s.Given, "?") {
		parameter = "&"
	}
	return parseServer(s.Given + parameter + schemaParameter + "=" + url.QueryEscape(schema))
}

// String returns the name without passwords.
func (s Server) String() string {
	u, err := url.Parse(s.Given)
	if err != nil {
		return "postgres://..."
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	parameters := u.Query()
	for key := range parameters {
		if strings.Contains(key, "password") {
			parameters.Del(key)
		}
	}
	u.RawQuery = parameters.Encode()
	return u.String()
}

// Passwords in URLs and parameters. The patterns match more than the password rather than less.
var (
	urlPassword = regexp.MustCompile(`(?i)(postgres(?:ql)?:/*[^\s:/@]*):\S*@`)
	keyPassword = regexp.MustCompile(`(?i)(password=)[^\s&]+`)
)

// Mask hides passwords in an error, which may quote the user's input.
func Mask(text string) string {
	return keyPassword.ReplaceAllString(urlPassword.ReplaceAllString(text, "$1:xxxxx@"), "${1}xxxxx")
}
