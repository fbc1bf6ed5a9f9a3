package dbname

import (
	"net/url"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The driver gets the URL's parameters with their meaning unchanged, without the schema.
func TestServerKeepsParameters(t *testing.T) {
	t.Parallel()
	s, isServer, err := Parse("postgres://host/db?options=-c%20a%3Db&password=x+y%26&schema=mine")
	want := "postgres://host/db?options=-c%20a%3Db&password=x%2By%26"
	if err != nil || !isServer || s.URL != want || s.Schema != "mine" {
		t.Errorf("%+v, %v, %v; want %q", s, isServer, err, want)
	}
	with, err := s.With(func(parameters url.Values) { parameters.Set("a", "b c") })
	if want := "postgres://host/db?a=b%20c&options=-c%20a%3Db&password=x%2By%26"; err != nil || with != want {
		t.Errorf("%q, %v; want %q", with, err, want)
	}
}

// Another schema of the server is named as users name it, beside the parameters that are there.
func TestInSchema(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"postgres://host/db", "postgres://host/db?sslmode=disable"} {
		s, _, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		other, err := s.InSchema("a&b")
		again, isServer, errAgain := Parse(other.Given)
		if err != nil || errAgain != nil || !isServer || other.Schema != "a&b" || again != other || strings.Contains(other.URL, "schema") {
			t.Errorf("%+v, %+v, %v, %v", other, again, err, errAgain)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		isServer bool
		says     string
	}{
		"shop.db":                               {},
		"file:shop.db":                          {},
		"file://host/shop.db":                   {},
		"POSTGRES://host/db":                    {isServer: true},
		"postgresql://host/db":                  {isServer: true},
		"http://host":                           {says: "not a database name"},
		"postgres:/host":                        {says: "not a database name"},
		"host=h password=x":                     {says: "not a database name"},
		"postgres://host/db?a=%ZZ":              {says: "special characters after the question mark as %XX"},
		"postgres://host/db?schema=":            {says: "must name one schema"},
		"postgres://host/db?schema=a&schema=b":  {says: "must name one schema"},
		"postgres://u:s3cret@host/db?schema=%Z": {says: "is invalid"},
	} {
		_, isServer, err := Parse(name)
		if isServer != want.isServer || (err != nil) != (want.says != "") || err != nil && (!strings.Contains(err.Error(), want.says) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %v, %v; want %+v", name, isServer, err, want)
		}
	}
}

// Neither a printed name nor a masked error shows a password.
func TestPasswordsAreHidden(t *testing.T) {
	t.Parallel()
	s, _, err := Parse("postgres://ann:s3cret@host/db?password=s3cret&sslpassword=s3cret&sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	if text := s.String(); strings.Contains(text, "s3cret") || text != "postgres://ann@host/db?sslmode=disable" {
		t.Error(text)
	}
	if text := Mask(`cannot parse "` + s.Given + `": host=h password=s3cret`); strings.Contains(text, "s3cret") || !strings.Contains(text, "sslmode=disable") {
		t.Error(text)
	}
}
