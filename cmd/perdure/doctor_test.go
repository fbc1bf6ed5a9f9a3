package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/invariant"
)

// Doctor names the damage, explains it, gives advice, and sets the exit code.
func TestDoctorFinds(t *testing.T) {
	path := fixture(t)
	alter(t, path, `DELETE FROM perdure_outcome WHERE key = (SELECT key FROM perdure_instance WHERE id = 'greet-1')`)
	alter(t, path, `DELETE FROM perdure_inbox`)
	code, stdout, stderr := perdure(t, "", "doctor", "--db", path)
	if code != exitFailure || stderr != "perdure: 3 findings\n" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	checkGolden(t, "doctor-broken", steady(stdout))

	code, stdout, _ = perdure(t, "", "doctor", "--db", path, "-o", "json")
	var d diagnosis
	if err := json.Unmarshal([]byte(stdout), &d); code != exitFailure || err != nil || len(d.Findings) != 3 {
		t.Fatalf("exit code %d, %v: %s", code, err, stdout)
	}
	if f := d.Findings[0]; f.Rule != invariant.MissingOutcome || f.ID != "greet-1" || f.Key == "" || f.Detail == "" || f.Means == "" || f.Advice == "" {
		t.Errorf("%+v", f)
	}
}

// Doctor says how far it is where that takes long: on a terminal in one line, on a pipe every ten seconds.
func TestDoctorShowsHowFarItIs(t *testing.T) {
	path := fixture(t)
	for terminal, says := range map[bool]string{true: "\r2 of 7 instances (28 %), ", false: "2 of 7 instances (28 %), "} {
		var out, errs bytes.Buffer
		clock := time.Unix(1000, 0)
		a := &app{terminal: func(any) bool { return terminal }, now: func() time.Time {
			clock = clock.Add(progressElse)
			return clock
		}}
		code := a.run(t.Context(), []string{"doctor", "--db", path}, strings.NewReader(""), &out, &errs)
		if code != exitOK || !strings.Contains(errs.String(), says) || strings.Contains(errs.String(), "\r") != terminal {
			t.Errorf("terminal %v: exit code %d, %q", terminal, code, errs.String())
		}
		if terminal && !strings.HasSuffix(errs.String(), " \r") {
			t.Errorf("the line is left on the terminal: %q", errs.String())
		}
	}
}

// Doctor does not change the file, not even leases of dead processes that other commands would end.
func TestDoctorChangesNothing(t *testing.T) {
	path := fixture(t)
	alter(t, path, `UPDATE perdure_instance SET lease_owner = 'ghost', lease_until = 1 << 60 WHERE id = 'idle-1'`)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		code, stdout, _ := perdure(t, "", "doctor", "--quiet", "--db", path)
		if code != exitFailure || !strings.Contains(stdout, `dead-lease  idle-1`) {
			t.Errorf("exit code %d: %s", code, stdout)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed (%v)", err)
	}
}

// Doctor reports unreadable data with advice.
func TestDoctorOfADamagedFile(t *testing.T) {
	path := fixture(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := 4096 * 8; page < len(data); page += 4096 {
		copy(data[page:page+100], bytes.Repeat([]byte{0xFF}, 100))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := perdure(t, "", "doctor", "--db", path)
	if code != exitStore || !strings.Contains(stderr, "restore a backup") || !strings.Contains(stderr, "malformed") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestEveryRuleHasAdvice(t *testing.T) {
	for _, rule := range invariant.Rules() {
		if a := adviceOn[rule]; (a.means == "" || a.do == "") && rule != invariant.UnexpectedOutcome {
			t.Errorf("no advice on %s", rule)
		}
	}
	if len(adviceOn) != len(invariant.Rules())-1 {
		t.Error("advice on unknown rules")
	}
}
