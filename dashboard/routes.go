package dashboard

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/perdure/perdure/client"
)

// route is one entry of the table from which the mux, the check of access, the API's document and the test of access come.
type route struct {
	method  string
	pattern string     // below the prefix, in the form of http.ServeMux
	right   client.Act // that the principal needs; "": it shows and changes nothing of the store
	serve   func(*call) error
	api     *endpoint // nil: a page
}

// endpoint describes a route of the API.
type endpoint struct {
	summary string
	query   []field
	body    []field
	answers reflect.Type // nil: nothing
	reads   bool         // the body is a file
	writes  bool         // the answer is a file
}

// pageRoutes is about how many routes serve no act.
const pageRoutes = 50

// routes returns the table.
func routes() []route {
	all := acts()
	table := make([]route, 0, pageRoutes+2*len(all))
	table = append(table, []route{
		{method: http.MethodGet, pattern: "/assets/{hash}/{file}", serve: (*call).asset},
		{method: http.MethodGet, pattern: "/login", serve: (*call).loginPage},
		{method: http.MethodPost, pattern: "/login", serve: (*call).login},
		{method: http.MethodPost, pattern: "/logout", serve: (*call).logout},
		{method: http.MethodGet, pattern: "/theme", serve: (*call).theme},
		{method: http.MethodGet, pattern: "/metrics", right: client.ActView, serve: (*call).metrics},
		{method: http.MethodGet, pattern: "/{$}", right: client.ActView, serve: (*call).overview},
		{method: http.MethodGet, pattern: "/instances", right: client.ActView, serve: (*call).instances},
		{method: http.MethodGet, pattern: "/lookup", right: client.ActView, serve: (*call).lookup},
		{method: http.MethodGet, pattern: "/instances/{key}", right: client.ActView, serve: (*call).instance},
		{method: http.MethodGet, pattern: "/instances/{key}/history", right: client.ActView, serve: (*call).history},
		{method: http.MethodGet, pattern: "/instances/{key}/timeline", right: client.ActView, serve: (*call).timeline},
		{method: http.MethodGet, pattern: "/instances/{key}/children", right: client.ActView, serve: (*call).children},
		{method: http.MethodGet, pattern: "/schedules", right: client.ActView, serve: (*call).schedules},
		{method: http.MethodGet, pattern: "/jobs", right: client.ActView, serve: (*call).jobs},
		{method: http.MethodGet, pattern: "/queues", right: client.ActView, serve: (*call).queues},
		{method: http.MethodGet, pattern: "/nodes", right: client.ActView, serve: (*call).nodes},
		{method: http.MethodGet, pattern: "/dead-letters", right: client.ActView, serve: (*call).deadLetters},
		{method: http.MethodGet, pattern: "/failures", right: client.ActView, serve: (*call).failures},
		{method: http.MethodGet, pattern: "/incident", right: client.ActView, serve: (*call).incidentPage},
		{method: http.MethodGet, pattern: "/retrying", right: client.ActView, serve: (*call).retrying},
		{method: http.MethodGet, pattern: "/retention", right: client.ActView, serve: (*call).retention},
		{method: http.MethodGet, pattern: "/audit", right: client.ActView, serve: (*call).audit},
	}...)
	for i := range all {
		a := &all[i]
		table = append(table,
			route{method: http.MethodGet, pattern: a.path(), right: a.right, serve: a.confirm},
			route{method: http.MethodPost, pattern: a.path(), right: a.right, serve: a.perform},
		)
	}
	return slices.Concat(table, endpoints(), moveEndpoints(), tokenEndpoints())
}
