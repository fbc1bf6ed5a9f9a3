package runtime_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/settings"
	"github.com/perdure/perdure/runtime"
)

// The page has every option of the runtime, its default, and whether it may be switched off, as in the code.
func TestPageTellsTheDefaults(t *testing.T) {
	t.Parallel()
	defaults, err := runtime.Options{}.Filled()
	if err != nil {
		t.Fatal(err)
	}
	table := settings.Table(t, "options.md", "runtime.Options", "option")
	settings.CheckDefaults(t, table, "default", defaults)
	var off runtime.Options
	for name, field := range settings.Fields(reflect.ValueOf(&off).Elem()) {
		if !field.CanInt() {
			continue
		}
		field.SetInt(runtime.Off)
		_, err := off.Filled()
		if said := table[name]["`Off`"]; (said == "yes") != (err == nil) {
			t.Errorf("Off for %s returns %v, the page says %q", name, err, said)
		}
		if err != nil && !strings.Contains(err.Error(), "option "+name+" is -1") {
			t.Errorf("Off for %s returns %v, which does not name it", name, err)
		}
		field.SetInt(0)
	}
}

// Every setting of the reference has a row with its name and default there. Its name here is an option or a flag, whose default
// and Off are those of the page with that option.
func TestEveryConcurrencySettingIsMapped(t *testing.T) {
	t.Parallel()
	page := settings.Table(t, "concurrency-settings.md", "", "setting there")
	options, flags := settings.Table(t, "options.md", "runtime.Options", "option"), settings.Table(t, "command-line.md", "Flags", "flag")
	for name, want := range map[string]string{
		"maxConcurrentWorkflows": "200", "maxConcurrentActivities": "200", "workflowDeadlockTimeoutMs": "2000",
		"maxHeartbeatThrottleIntervalMs": "60000", "defaultHeartbeatThrottleIntervalMs": "30000",
		"shutdownGracePeriodMs": "10000", "shutdownForceTimeoutMs": "5000", "forceExitTimeoutMs`, `forceExitTimeout": "60000, 1m",
		"zombie.maxZombieCount": "10", "zombie.retryInterval": "1s", "zombie.retryMaxDelay": "60s", "zombie.gracePeriod": "10s",
		"zombie.giveUpAfter": "1h", "zombie.shutdownTimeout": "30s",
	} {
		row, known := page[name]
		if !known || row["default there"] != want {
			t.Errorf("%s: %q, want the default %s", name, row, want)
		}
		here, inCode := strings.CutPrefix(row["here"], "`")
		if !inCode { // in words
			continue
		}
		here = strings.TrimSuffix(here, "`")
		mapped, ok := options[here]
		if command, isFlag := strings.CutPrefix(here, "perdure "); isFlag {
			mapped, ok = flags[command]
		}
		// The page of the options says more of some.
		if first, _, _ := strings.Cut(mapped["default"], ","); !ok || row["default"] != first {
			t.Errorf("%s is %s here, of which the pages say %q and %q", name, here, row["default"], mapped["default"])
		}
		if off, _, _ := strings.Cut(row["`Off`"], ":"); mapped["`Off`"] != "" && off != mapped["`Off`"] {
			t.Errorf("Off for %s: %q and %q", here, off, mapped["`Off`"])
		}
	}
	if len(page) != 14 {
		t.Errorf("%d settings: %v", len(page), page)
	}
}
