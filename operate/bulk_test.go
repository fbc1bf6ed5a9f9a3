package operate_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider/memory"
)

// The list of acts has those that the client can do for a job, and no other.
func TestBulkActsAreThoseOfTheClient(t *testing.T) {
	t.Parallel()
	c, err := client.New(memory.New(memory.Options{}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, a := range operate.BulkActs() {
		listed = append(listed, string(a))
	}
	if can := slices.Sorted(maps.Keys(access.CallerOf(c).BulkActs())); !slices.Equal(listed, can) {
		t.Errorf("BulkActs lists %q, the client can do %q", listed, can)
	}
}

// A client gives its Caller all functions, whoever it acts for.
func TestClientsServeTheirCaller(t *testing.T) {
	t.Parallel()
	c, err := client.New(memory.New(memory.Options{}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	as, err := c.As(client.Principal{Name: "ann", Role: client.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*client.Client{c, as} {
		caller := reflect.ValueOf(access.CallerOf(c)).Elem()
		for i := range caller.NumField() {
			if f := caller.Field(i); f.Kind() == reflect.Func && f.IsNil() {
				t.Errorf("a caller without %s", caller.Type().Field(i).Name)
			}
		}
	}
}
