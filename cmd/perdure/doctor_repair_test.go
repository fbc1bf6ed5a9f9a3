package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/invariant"
)

// Doctor finds instances that have lost the name of their orchestration and gives it back, whether they have run or not.
func TestDoctorRepairsNames(t *testing.T) {
	path := fixture(t)
	if code, _, stderr := perdure(t, "", "start", "Waits", "--id", "fresh", "--db", path); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	names := func() string {
		_, stdout, _ := perdure(t, "", "list", "--db", path, "-o", "json")
		return stdout
	}
	before := names()
	alter(t, path, `INSERT INTO perdure_kind (name, code_version, engine_level) VALUES ('', '', 1)`)
	alter(t, path, `UPDATE perdure_instance SET kind = (SELECT id FROM perdure_kind WHERE name = '') WHERE id IN ('fresh', 'idle-1')`)
	code, stdout, _ := perdure(t, "", "doctor", "--db", path)
	if code != exitFailure || strings.Count(stdout, string(invariant.MissingName)+"  ") != 2 {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	code, stdout, stderr := perdure(t, "", "doctor", "--repair", "--db", path, "-o", "json")
	var d diagnosis
	if err := json.Unmarshal([]byte(stdout), &d); code != 0 || err != nil || len(d.Findings) != 0 || len(d.Repaired) != 2 {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	for _, r := range d.Repaired {
		if r.Name == "" || !strings.Contains(before, `"`+r.Name+`"`) {
			t.Errorf("%s got the name %q", r.ID, r.Name)
		}
	}
	if after := names(); strings.Contains(after, `"orchestration": ""`) || strings.Contains(after, `"name": ""`) {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
