package cron

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/robfig.txt
var robfig string

// Where the clocks do not change, Next names the same times as robfig/cron v3.0.1. testdata/robfig.txt has 1,500 random expressions with the
// times that it names, so that this module does not depend on it.
func TestSameAsRobfig(t *testing.T) {
	t.Parallel()
	compared := 0
	for line := range strings.Lines(robfig) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(strings.TrimSpace(line), "|")
		zone, err := time.LoadLocation(parts[1])
		if err != nil {
			t.Skip(err)
		}
		seconds, err := strconv.ParseInt(parts[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		e, at := mustParse(t, parts[0]), time.Unix(seconds, 0)
		var got []string
		for range 5 {
			at = e.Next(at, zone)
			got = append(got, fmt.Sprint(at.Unix()))
		}
		if compared++; strings.Join(got, " ") != parts[3] {
			t.Errorf("%s in %s after %s: %v, robfig names %s", parts[0], parts[1], parts[2], got, parts[3])
		}
	}
	if compared != 1500 {
		t.Errorf("%d compared", compared)
	}
}
