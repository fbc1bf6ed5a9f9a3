package dashboard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
)

var updateDocument = flag.Bool("update", false, "write openapi.json anew")

type object = map[string]any

// schemas are the named types of the document.
type schemas map[string]object

// of returns the schema of a type as wire writes it.
func (s schemas) of(t reflect.Type) object {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == rawType:
		return object{"description": "A value of user code: any JSON."}
	case t == timeType:
		return object{"type": "string", "format": "date-time"}
	case t.Implements(jsonType):
		return object{"description": "In the form of the command line."}
	case t.Implements(textType):
		if t.Name() == "UUID" {
			return object{"type": "string", "format": "uuid"}
		}
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.named(t)
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return object{"type": "object", "additionalProperties": s.of(reflect.TypeFor[typed]())}
		}
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Int64, reflect.Uint64:
		return object{"type": "string", "format": "int64", "pattern": "^-?[0-9]+$"}
	default:
		return object{"type": "integer"}
	}
}

func (s schemas) named(t reflect.Type) object {
	name := strings.NewReplacer("[", "Of", "]", "", "github.com/perdure/perdure/client.", "", "github.com/perdure/perdure/operate.", "").Replace(t.Name())
	name = strings.ToUpper(name[:1]) + name[1:]
	ref := object{"$ref": "#/components/schemas/" + name}
	if s[name] != nil {
		return ref
	}
	made := object{"type": "object"}
	s[name] = made
	properties, required := object{}, []string{}
	s.fields(t, properties, &required)
	made["properties"] = properties
	if len(required) > 0 {
		slices.Sort(required)
		made["required"] = required
	}
	return ref
}

func (s schemas) fields(t reflect.Type, properties object, required *[]string) {
	for _, f := range fieldsOf(t) {
		if t.Field(f.index).Anonymous {
			s.fields(t.Field(f.index).Type, properties, required)
			continue
		}
		properties[f.name] = s.of(t.Field(f.index).Type)
		if !f.omitEmpty && !f.omitZero && t.Field(f.index).Type != rawType {
			*required = append(*required, f.name)
		}
	}
}

// schemaOf returns the schema of an act's field.
func schemaOf(f *field) object {
	s := map[fieldKind]object{
		aJSON: {}, anInt: {"type": []string{"string", "integer"}, "format": "int64"}, aBool: {"type": "boolean"},
		aTime: {"type": "string", "format": "date-time"}, aList: {"type": "array", "items": object{"type": "string"}}, aValue: {"type": "string", "enum": f.choices},
	}[f.kind]
	s = maps.Clone(s)
	if s == nil {
		s = object{"type": "string"}
	}
	if text := cmp.Or(f.help, f.label); text != "" {
		s["description"] = text
	}
	return s
}

// document makes the description of the API from the table of routes.
func document() object {
	types, paths := schemas{}, object{}
	types.of(reflect.TypeFor[problem]())
	for _, rt := range routes() {
		if rt.api == nil {
			continue
		}
		path := strings.TrimPrefix(rt.pattern, apiPath)
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path].(object)[strings.ToLower(rt.method)] = operation(&rt, types)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "perdure", "version": "1",
			"description": "Instances are named by their keys, which are never used again. Numbers of 64 bits are strings. Values of user code are as they were stored, and are left out unless asked for.",
		},
		"servers": []object{{"url": "."}},
		"paths":   paths,
		"components": object{
			"schemas":         types,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
			"responses": object{"Problem": object{
				"description": "An error.", "content": object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}},
			}},
		},
		"security": []object{{"token": []string{}}},
	}
}

func operation(rt *route, types schemas) object {
	op := object{"summary": strings.SplitAfter(rt.api.summary, ".")[0], "description": rt.api.summary, "x-role": role(rt.right), "x-act": rt.right}
	name := strings.NewReplacer("/", "-", "{", "", "}", "", ".", "-").Replace(strings.TrimPrefix(rt.pattern, apiPath+"/"))
	op["operationId"] = strings.ToLower(rt.method) + "-" + name
	parameters := []object{}
	for part := range strings.SplitSeq(rt.pattern, "/") {
		if inner, ok := strings.CutPrefix(part, "{"); ok {
			p := object{"name": strings.TrimSuffix(inner, "}"), "in": "path", "required": true, "schema": object{"type": "string"}}
			parameters = append(parameters, p)
		}
	}
	for _, f := range rt.api.query {
		p := object{"name": f.name, "in": "query", "required": f.required, "schema": schemaOf(&f)}
		parameters = append(parameters, p)
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if rt.method == http.MethodPost {
		properties, required := object{}, []string{}
		for _, f := range rt.api.body {
			properties[f.name] = schemaOf(&f)
			if f.required {
				required = append(required, f.name)
			}
		}
		body := object{"type": "object", "properties": properties, "additionalProperties": false}
		if len(required) > 0 {
			body["required"] = required
		}
		op["requestBody"] = object{"required": len(required) > 0, "content": object{"application/json": object{"schema": body}}}
		if rt.api.reads {
			op["requestBody"] = object{"required": true, "content": object{fileKind: object{"schema": object{"type": "string", "format": "binary"}}}}
		}
	}
	responses := object{"default": object{"$ref": "#/components/responses/Problem"}}
	switch {
	case rt.api.writes:
		responses["200"] = object{"description": "The file.", "content": object{fileKind: object{"schema": object{"type": "string", "format": "binary"}}}}
	case rt.api.answers == nil && rt.method == http.MethodPost:
		responses["204"] = object{"description": "Done."}
	default:
		ok := object{"description": "Done."}
		if rt.api.answers != nil {
			ok["content"] = object{"application/json": object{"schema": types.of(rt.api.answers)}}
		}
		responses["200"] = ok
	}
	op["responses"] = responses
	return op
}

// role returns the least role that has a right.
func role(a client.Act) string {
	for _, r := range []client.Role{client.RoleViewer, client.RoleOperator, client.RoleAdmin} {
		if (client.Principal{Role: r}).May(a) {
			return r.String()
		}
	}
	return "none"
}

// The embedded document describes every route of the API, and no other.
func TestOpenAPIDescribesTheRoutes(t *testing.T) {
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(document()); err != nil {
		t.Fatal(err)
	}
	if *updateDocument {
		if err := os.WriteFile("openapi.json", want.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want.Bytes(), openAPIFile) {
		t.Error("openapi.json differs from the table of routes: run go test ./dashboard -run OpenAPI -update")
	}
}

// check reports where a value does not fit its schema.
func (s schemas) check(schema object, v any, at string) error {
	if ref, ok := schema["$ref"].(string); ok {
		return s.check(s[strings.TrimPrefix(ref, "#/components/schemas/")], v, at)
	}
	bad := func() error { return fmt.Errorf("%s is %v, and the schema is %v", at, v, schema["type"]) }
	switch schema["type"] {
	case "object":
		m, ok := v.(object)
		if !ok {
			return bad()
		}
		properties, _ := schema["properties"].(object)
		extra, _ := schema["additionalProperties"].(object)
		for name, value := range m {
			of, known := properties[name].(object)
			if !known {
				of = extra
			}
			if of == nil {
				return fmt.Errorf("%s has %q, which the schema has not", at, name)
			}
			if err := s.check(of, value, at+"."+name); err != nil {
				return err
			}
		}
		required, _ := schema["required"].([]string)
		for _, name := range required {
			if _, ok := m[name]; !ok {
				return fmt.Errorf("%s lacks %q", at, name)
			}
		}
	case "array":
		list, ok := v.([]any)
		if !ok {
			return bad()
		}
		for i := range list {
			if err := s.check(schema["items"].(object), list[i], fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case "string":
		if _, ok := v.(string); !ok {
			return bad()
		}
	case "integer", "number":
		if _, ok := v.(json.Number); !ok {
			return bad()
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return bad()
		}
	}
	return nil
}
