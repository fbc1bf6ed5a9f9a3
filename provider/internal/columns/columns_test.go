package columns_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/columns"
	"github.com/perdure/perdure/provider/internal/relational"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// What both stores read and write of an instance is generated from the list.
func TestFilesAreGenerated(t *testing.T) {
	t.Parallel()
	files, err := columns.Files()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("provider/%s is not what the list says: run go generate ./provider/internal/columns", path)
		}
	}
}

// Every field of a head has a column that is loaded, and every field of an instance has one, or comes from another table.
func TestEachFieldHasAColumn(t *testing.T) {
	t.Parallel()
	heads, shown := map[string]columns.Column{}, map[string]bool{
		// From other tables, or not stored.
		"Name": true, "CodeVersion": true, "EngineLevel": true, "CustomStatus": true, "Result": true, "Excerpt": true, "FailureGroup": true,
	}
	for _, c := range columns.Instance() {
		heads[c.Field], shown[c.Shown] = c, true
	}
	for path := range fields(reflect.TypeFor[relational.Head](), "") {
		c, ok := heads[path]
		switch {
		case slices.Contains([]string{"Wide", "Kept", "Parent.ID", "Parent.Close"}, path): // of the transaction, or not of the head
		case !ok, path != "Key" && c.Use&columns.Loaded == 0:
			t.Errorf("no column loads relational.Head.%s", path)
		}
	}
	for path := range fields(reflect.TypeFor[provider.Instance](), "") {
		if !shown[path] {
			t.Errorf("no column has provider.Instance.%s", path)
		}
	}
}

// Every field of a task is read by the rules, and every field of a new task is stored.
func TestEachFieldOfATaskHasAColumn(t *testing.T) {
	t.Parallel()
	read := map[string]bool{"Key": true, "Execution": true, "EventID": true, "Failure": true} // by these it is found; the failure is only written
	given := map[string]bool{}
	for _, c := range columns.Task() {
		read[c.Field] = read[c.Field] || c.Use&columns.Read != 0
		given[strings.TrimPrefix(c.Given, "stored.")] = c.Use&columns.Added != 0
	}
	for path := range fields(reflect.TypeFor[relational.Task](), "") {
		if !read[strings.TrimPrefix(path, "TaskRef.")] {
			t.Errorf("no column has relational.Task.%s", path)
		}
	}
	for path := range fields(reflect.TypeFor[provider.NewTask](), "") {
		of := []string{"EventID", "Queue", "Name", "Priority", "NotBefore", "StartBy", "Deadline"} // become part of relational.Task or of its kind
		if !given[path] && !slices.Contains(of, path) && !strings.HasPrefix(path, "Lease.") {
			t.Errorf("no column has provider.NewTask.%s", path)
		}
	}
}

// fields returns the paths of the exported fields of a struct. A struct of package provider within it counts by its own fields.
func fields(of reflect.Type, prefix string) map[string]bool {
	paths := map[string]bool{}
	for f := range of.Fields() {
		if !f.IsExported() {
			continue
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() != reflect.Struct {
			paths[prefix+f.Name] = true
			continue
		}
		for path := range fields(inner, f.Name+".") {
			paths[path] = true
		}
	}
	return paths
}
