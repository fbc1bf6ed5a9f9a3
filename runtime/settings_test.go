package runtime_test

import (
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/runtime"
)

// rows answers the cells of all rows of a page's tables whose given cell is a name in backquotes.
func rows(t *testing.T, page string, named int) (found map[string][]string) {
	t.Helper()
	data, err := os.ReadFile("../docs/reference/" + page)
	if err != nil {
		t.Fatal(err)
	}
	found = map[string][]string{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) <= named || !strings.HasPrefix(line, "|") {
			continue
		}
		if name := strings.Trim(cells[named], "`"); name != cells[named] {
			found[name] = cells
		}
	}
	return found
}

var figure = regexp.MustCompile(`^([\d,]+)( (s|min|h|MiB))?$`)

// value reads a default as pages write it.
func value(t *testing.T, text string) int64 {
	t.Helper()
	m := figure.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("the default %q is no figure", text)
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * map[string]int64{"": 1, "s": int64(time.Second), "min": int64(time.Minute), "h": int64(time.Hour), "MiB": 1 << 20}[m[3]]
}

// The pages tell every option of the runtime, its default, and whether it may be switched off, as the code has them.
func TestPagesTellTheDefaults(t *testing.T) {
	t.Parallel()
	defaults, err := runtime.Options{}.Filled()
	if err != nil {
		t.Fatal(err)
	}
	options, settings := rows(t, "options.md", 0), rows(t, "concurrency-settings.md", 2)
	fields := reflect.ValueOf(defaults)
	mapped := 0
	for i := range fields.NumField() {
		name, field := fields.Type().Field(i).Name, fields.Field(i)
		row, ok := options[name]
		if !ok {
			t.Errorf("options.md does not tell of %s", name)
			continue
		}
		if !field.CanInt() {
			continue
		}
		off := reflect.ValueOf(&runtime.Options{}).Elem()
		off.Field(i).SetInt(runtime.Off)
		_, err := off.Interface().(runtime.Options).Filled()
		told := [][]string{row[1:3]}
		if row, ok := settings[name]; ok {
			mapped++
			told = append(told, row[3:5])
		}
		for _, cells := range told {
			if want := value(t, cells[0]); field.Int() != want {
				t.Errorf("the default of %s is %d, the pages say %s", name, field.Int(), cells[0])
			}
			if (cells[1] == "yes") != (err == nil) {
				t.Errorf("Off for %s answers %v, the pages say %q", name, err, cells[1])
			}
		}
	}
	if mapped != 11 {
		t.Errorf("concurrency-settings.md maps %d settings to options", mapped)
	}
}

// Every setting of the reference has a row: its name and default there.
func TestEveryConcurrencySettingIsMapped(t *testing.T) {
	t.Parallel()
	page := rows(t, "concurrency-settings.md", 0)
	for name, want := range map[string]string{
		"maxConcurrentWorkflows": "200", "maxConcurrentActivities": "200", "workflowDeadlockTimeoutMs": "2000",
		"maxHeartbeatThrottleIntervalMs": "60000", "defaultHeartbeatThrottleIntervalMs": "30000",
		"shutdownGracePeriodMs": "10000", "shutdownForceTimeoutMs": "5000", "forceExitTimeoutMs`, `forceExitTimeout": "60000, 1m",
		"zombie.maxZombieCount": "10", "zombie.retryInterval": "1s", "zombie.retryMaxDelay": "60s", "zombie.gracePeriod": "10s",
		"zombie.giveUpAfter": "1h", "zombie.shutdownTimeout": "30s",
	} {
		row := page[name]
		if len(row) < 3 || row[1] != want {
			t.Errorf("%s: %q, want the default %s", name, row, want)
		}
	}
	if len(page) != 14 {
		t.Errorf("%d settings: %v", len(page), page)
	}
}
