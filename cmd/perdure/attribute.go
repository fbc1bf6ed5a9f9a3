package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
)

// parseAttributes parses conditions of the form NAME=TEXT, NAME:int=NUMBER, NAME:bool=true or NAME:time=TIME.
func parseAttributes(given []string) ([]client.AttributeFilter, error) {
	filters := make([]client.AttributeFilter, 0, len(given))
	for _, text := range given {
		name, value, found := strings.Cut(text, "=")
		if !found || name == "" {
			return nil, badUsage("flag --attribute is %q: it must be NAME=VALUE, such as region=eu or count:int=7", text)
		}
		f, err := parseAttribute(name, value)
		if err != nil {
			return nil, badUsage("flag --attribute is %q: %v", text, err)
		}
		filters = append(filters, f)
	}
	return filters, nil
}

func parseAttribute(name, value string) (client.AttributeFilter, error) {
	bare, kind, _ := cutLast(name, ":")
	switch kind {
	case "int":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return client.AttributeFilter{}, fmt.Errorf("%q must be a whole number of 64 bits", value)
		}
		return client.AttributeIs(bare, n), nil
	case "bool":
		b, err := strconv.ParseBool(value)
		if err != nil {
			return client.AttributeFilter{}, fmt.Errorf("%q must be true or false", value)
		}
		return client.AttributeIs(bare, b), nil
	case "time":
		t, err := time.Parse(time.RFC3339Nano, value)
		if err != nil {
			return client.AttributeFilter{}, fmt.Errorf("%q must be a time such as 2026-01-02T03:04:05Z", value)
		}
		return client.AttributeIs(bare, t), nil
	default:
		return client.AttributeIs(name, value), nil
	}
}

// cutLast cuts s around the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// stateRows shows what the code of an instance has set.
func stateRows(w *grid, d *client.Description) {
	switch {
	case d.NotStored != "":
		row(w, "custom status", "could not be stored: "+d.NotStored)
	case d.CustomStatus != nil:
		row(w, "custom status", payloadText(d.CustomStatus, showLimit))
	}
	if d.Waiting != nil {
		row(w, "waits for", fmt.Sprintf("%s, since %s", d.Waiting.Text, instant(d.Waiting.Since)))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		row(w, "attribute "+name, attributeText(d.Attributes[name]))
	}
	if l := d.Limit; l != nil {
		scope := ""
		if l.EachExecution {
			scope = " for each execution"
		}
		row(w, "time limit", fmt.Sprintf("%v%s: cancelled %s, terminated %s", l.Limit, scope, instant(l.Due), instant(l.Terminate)))
	}
	if len(d.Keys) > 0 {
		quoted, _ := json.Marshal(d.Keys) //nolint:errchkjson // texts can always be encoded
		row(w, "values", payloadText(quoted, showLimit))
	}
}

// attributeText shows an attribute. Quotes tell a text from other kinds.
func attributeText(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	default:
		return fmt.Sprint(v)
	}
}
