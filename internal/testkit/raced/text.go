package raced

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/provider"
)

// names are all that a scene makes UUIDs of.
func (s Scene) names() []string {
	list := []string{ //nolint:prealloc // the calls follow
		"x", "child", "other", "third", "made x", "made child", "made other", "made third", "first", "entered", "fetch 1", "fetch 2", "fetch 3", "task", "next task",
		"sessions", "fetched tasks", "first of other", "transfer", "waiting fetch",
	}
	for _, c := range Calls() {
		list = append(list, "commit "+c.Name)
	}
	return list
}

var (
	uuids   = regexp.MustCompile(`\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b`)
	instant = regexp.MustCompile(`\b\d{16,18}\b`)
)

// Plain returns rows of a scene in order, as they are in every scene with the same calls: UUIDs by their names, and instants in minutes since
// the scene began.
func (s Scene) Plain(rows []string, began provider.Time) []string {
	named := make(map[string]string)
	for _, name := range s.names() {
		u := s.uuid(name)
		named[hex.EncodeToString(u[:])] = "<" + name + ">"
	}
	for _, fetch := range []string{"sessions", "fetched tasks"} {
		for event := range int64(12) {
			u := provider.TaskToken(s.uuid(fetch), s.task(event))
			named[hex.EncodeToString(u[:])] = fmt.Sprintf("<%s, event %d>", fetch, event)
		}
	}
	plain := make([]string, len(rows))
	for i, row := range rows {
		row = strings.ReplaceAll(row, fmt.Sprint(mark, int(s), mark), "")
		row = uuids.ReplaceAllStringFunc(row, func(found string) string {
			if name, ok := named[strings.ReplaceAll(found, "-", "")]; ok {
				return name
			}
			return "<another>"
		})
		plain[i] = instant.ReplaceAllStringFunc(row, func(found string) string {
			at, err := strconv.ParseInt(found, 10, 64)
			if t := provider.Time(at); err == nil && t != due && t != provider.HeldUntil {
				return fmt.Sprintf("%+d min", int64(t.Sub(began).Round(time.Minute)/time.Minute))
			}
			return found
		})
	}
	slices.Sort(plain)
	return plain
}
