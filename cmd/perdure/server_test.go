package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/order"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// password must not appear in any output.
const password = "s3cret/word"

// guardedCluster returns a Postgres cluster with a role "guarded" that needs its password.
func guardedCluster(t *testing.T) *postgrestest.Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "perdure-rules-") //nolint:usetesting // the server's user cannot enter a test's directory
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	rules := filepath.Join(dir, "pg_hba.conf")
	text := "host all guarded 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(rules, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	c := postgrestest.New(t, "hba_file="+rules)
	postgrestest.Exec(t, c.URL(), "CREATE ROLE guarded LOGIN PASSWORD '"+password+"'", "CREATE ROLE other LOGIN")
	return c
}

// as returns the URL of a database of the cluster for a role.
func as(c *postgrestest.Cluster, role, database string) string {
	if role == "guarded" {
		role += ":" + strings.ReplaceAll(password, "/", "%2F")
	}
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", role, c.Port(), database)
}

// All commands print the same on Postgres as on a file.
func TestCommandsOnServer(t *testing.T) {
	longtest.Skip(t)
	cluster := guardedCluster(t)
	postgrestest.Exec(t, cluster.URL(), "CREATE DATABASE fixture OWNER guarded")
	db, err := databaseOf(as(cluster, "guarded", "fixture"))
	if err == nil {
		err = makeFixture(t.Context(), db)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range commandLines {
		if !strings.Contains(c.line, "DB") || strings.HasPrefix(c.name, "migrate") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			copied := fmt.Sprintf("copy%d", i)
			postgrestest.Exec(t, cluster.URL(), "CREATE DATABASE "+copied+" TEMPLATE fixture OWNER guarded")
			checkCommand(t, c.name, c.line, as(cluster, "guarded", copied))
		})
	}
	t.Run("upgrade", func(t *testing.T) {
		postgrestest.Exec(t, cluster.URL(), "CREATE DATABASE upgraded TEMPLATE fixture OWNER guarded")
		checkUpgrade(t, as(cluster, "guarded", "upgraded"))
	})
	t.Run("export", func(t *testing.T) { checkExport(t, as(cluster, "guarded", "fixture")) })
}

// Mistakes with a server are reported like mistakes with a file, and no output shows the password.
func TestServerMistakes(t *testing.T) {
	longtest.Skip(t)
	cluster := guardedCluster(t)
	guarded := as(cluster, "guarded", "postgres")
	migrate := func(url string) {
		t.Helper()
		if code, _, stderr := perdure(t, "", "migrate", "up", "--db", url); code != exitOK {
			t.Fatal(stderr)
		}
	}
	postgrestest.Exec(t, cluster.URL(), "CREATE DATABASE owned OWNER guarded", "CREATE SCHEMA foreigner",
		"CREATE TABLE foreigner.migration (id int)", "GRANT ALL ON SCHEMA foreigner TO guarded", "GRANT ALL ON foreigner.migration TO guarded")
	migrate(cluster.URL() + "&schema=closed")
	migrate(cluster.URL() + "&schema=newer")
	postgrestest.Exec(t, cluster.URL(), "GRANT USAGE ON SCHEMA newer TO guarded", "GRANT SELECT ON ALL TABLES IN SCHEMA newer TO guarded",
		"INSERT INTO newer.migration VALUES (99, 'later', 99, 0)", "REVOKE CREATE ON DATABASE postgres FROM PUBLIC")
	replace := strings.NewReplacer("WRONG", strings.Replace(guarded, "%2F", "x", 1), "AWAY", strings.Replace(guarded, fmt.Sprint(cluster.Port()), "1", 1),
		"ABSENT", as(cluster, "guarded", "absent"), "OWNED", as(cluster, "guarded", "owned"), "DB", guarded,
		"BROKEN", "postgres://guarded:"+password+"%zz@127.0.0.1/x", "SLASH", "postgres://guarded:"+password+"@127.0.0.1/x",
		"TLS", strings.Replace(guarded, "disable", "require", 1), "FILE", fixture(t))
	for _, c := range []struct {
		line string
		code exitCode
		says []string
	}{
		{"list --db WRONG", exitStore, []string{"postgres://guarded@127.0.0.1", "password authentication failed", "check user and password"}},
		{"list --db AWAY", exitStore, []string{"127.0.0.1:1", "refused", "check host, port"}},
		{"list --db TLS", exitStore, []string{"TLS", "sslmode"}},
		{"list --db ABSENT", exitStore, []string{`"absent" does not exist`, "create the database"}},
		{"list --db OWNED", exitStore, []string{`schema "perdure"`, "no tables", "perdure migrate up"}},
		{"list --db OWNED&schema=mine", exitStore, []string{`schema "mine"`, "no tables", "perdure migrate up"}},
		{"list --db DB&schema=closed", exitStore, []string{"permission denied", "perdure migrate grants"}},
		{"list --db DB&schema=newer", exitStore, []string{"newer schema", "99", "upgrade"}},
		{"list --db DB&schema=foreigner", exitStore, []string{"another program's table"}},
		{"doctor --db DB&schema=closed", exitStore, []string{"permission denied", "perdure migrate grants"}},
		{"doctor --db AWAY", exitStore, []string{"refused"}},
		{"start Greet --db WRONG", exitStore, []string{"password authentication failed"}},
		{"show x --db OWNED", exitStore, []string{"no tables"}},
		{"migrate up --db DB&schema=mine", exitStore, []string{"permission denied", "a role that may create"}},
		{"migrate up --db WRONG", exitStore, []string{"password authentication failed"}},
		{"migrate status --db WRONG", exitStore, []string{"password authentication failed"}},
		{"migrate status --db ABSENT", exitStore, []string{"create the database"}},
		{"migrate status --db DB&schema=closed", exitStore, []string{"permission denied"}},
		{"demo --db WRONG", exitStore, []string{"password authentication failed"}},
		{"list --db DB&schema=pg_mine", exitUsage, []string{"pg_mine", "belong to Postgres"}},
		{"list --db DB&schema=", exitUsage, []string{"schema=NAME"}},
		{"list --db DB&schema=a&schema=b", exitUsage, []string{"schema=NAME"}},
		{"list --db DB&pool_max_conns=many", exitUsage, []string{"pool_max_conns"}},
		{"list --db DB&x=%zz", exitUsage, []string{"%XX"}},
		{"list --db BROKEN", exitUsage, []string{"cannot be read", "%XX"}},
		{"list --db SLASH", exitUsage, []string{"cannot be read", "%XX"}},
		{"migrate status --db SLASH", exitUsage, []string{"cannot be read", "%XX"}},
		{"list --db mysql://guarded:s3cret@db/x", exitUsage, []string{"SQLite file", "postgres://"}},
		{"list --db postgres:guarded:s3cret@db/x", exitUsage, []string{"SQLite file", "postgres://"}},
		{"list --db host=db,password=s3cret", exitUsage, []string{"SQLite file", "postgres://"}},
		{"list SLASH --db DB", exitUsage, []string{"is no word of searches"}},
		{"migrate grants app --db FILE", exitUsage, []string{"has no roles", "postgres://"}},
		{"migrate grants --db DB", exitUsage, []string{"ROLE is missing"}},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Setenv(dbVariable, "")
			code, stdout, stderr := perdure(t, "", append(strings.Fields(replace.Replace(c.line)), "--log-level", "debug")...)
			if code != c.code {
				t.Errorf("exit code %d, must be %d", code, c.code)
			}
			if stdout != "" {
				t.Errorf("standard output must be empty: %s", stdout)
			}
			for _, part := range c.says {
				if !strings.Contains(stderr, part) {
					t.Errorf("the error must say %q: %s", part, stderr)
				}
			}
			if strings.Contains(stderr, "s3cret") || strings.Contains(stderr, "word@") {
				t.Errorf("the error shows the password: %s", stderr)
			}
		})
	}
}

// A role that owns nothing runs a store in a schema that another role has created.
func TestRolesOfServer(t *testing.T) {
	longtest.Skip(t)
	cluster := guardedCluster(t)
	postgrestest.Exec(t, cluster.URL(), "CREATE DATABASE owned OWNER other")
	owner, user := as(cluster, "other", "owned")+"&schema=my%20work", as(cluster, "guarded", "owned")+"&schema=my%20work"
	for _, step := range []struct {
		line, db string
		code     exitCode
		says     string
	}{
		{"migrate status", owner, exitOK, "no\n"},
		{"migrate up", owner, exitOK, "yes\n"},
		{"migrate status", owner, exitOK, "yes\n"},
		{"start Greet --id a", user, exitStore, ""},
		{"migrate grants guarded", owner, exitOK, `GRANT USAGE ON SCHEMA "my work" TO "guarded";`},
		{"start Greet --id a", user, exitOK, "started a"},
		{"raise a word", user, exitOK, "word"},
		{"list", user, exitOK, "Greet"},
		{"doctor", user, exitOK, "0 findings"},
		{"migrate up", user, exitOK, "yes\n"},
		{"migrate print", user, exitOK, `CREATE TABLE "my work".instance`},
		{"list", as(cluster, "other", "owned"), exitStore, ""},
	} {
		t.Setenv(dbVariable, step.db)
		code, stdout, stderr := perdure(t, "", strings.Fields(step.line)...)
		if code != step.code || !strings.Contains(stdout, step.says) {
			t.Errorf("%s: exit code %d, must be %d and say %q: %s%s", step.line, code, step.code, step.says, stdout, stderr)
		}
		if strings.HasPrefix(step.line, "migrate grants") {
			postgrestest.Exec(t, as(cluster, "other", "owned"), strings.Split(strings.TrimSpace(stdout), "\n")...)
		}
	}
}

// Doctor finds the same on Postgres as on a file, and cannot change anything there.
func TestDoctorOnServer(t *testing.T) {
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	name := url + "&schema=" + schema
	db, err := databaseOf(name)
	if err == nil {
		err = makeFixture(t.Context(), db)
	}
	if err != nil {
		t.Fatal(err)
	}
	postgrestest.Exec(t, url, fmt.Sprintf(`DELETE FROM %[1]s.outcome WHERE key = (SELECT key FROM %[1]s.instance WHERE id = 'greet-1')`, schema),
		"DELETE FROM "+schema+".inbox")
	code, stdout, stderr := perdure(t, "", "doctor", "--db", name)
	if code != exitFailure || stderr != "perdure: 3 findings\n" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	checkGolden(t, "doctor-broken", steady(stdout))
	view, err := db.view(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// The client repeats the call until its timeout. On a busy machine a short one may pass before the store answers.
	for _, limit := range []time.Duration{300 * time.Millisecond, 3 * time.Second, 10 * time.Second} {
		err = startIdle(t.Context(), clienttest.New(t, view, client.Options{CallTimeout: limit, Logger: slog.New(slog.DiscardHandler)}))
		if err == nil || strings.Contains(err.Error(), "read-only") {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("what doctor reads can be written: %v", err)
	}
	if err := view.Close(); err != nil {
		t.Error(err)
	}
}

// A worker's command line, which every user of the machine can read, contains no password.
func TestWorkersCommandLineHidesPassword(t *testing.T) {
	a := &app{}
	db, err := databaseOf("postgres://guarded:" + password + "@db/x")
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDemoRun(a, newDemo(a), db, filepath.Join(t.TempDir(), "ledger"), order.Order{}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	self, err := exec.LookPath("true")
	if err != nil {
		t.Skip(err)
	}
	w, err := startProcess(self, d.worker, io.Discard, func(notice) {})
	if err != nil {
		t.Fatal(err)
	}
	<-w.exited
	if line := strings.Join(w.cmd.Args, " "); strings.Contains(line, "s3cret") || d.worker.DB != db.name() {
		t.Errorf("the worker is started with %q and the database %q", line, d.worker.DB)
	}
}

// The demo works on a server, too.
func TestDemoOnServer(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	cluster := guardedCluster(t)
	postgrestest.Exec(t, cluster.URL(), "CREATE DATABASE demo OWNER guarded")
	temp := t.TempDir()
	out := runDemo(t, temp, "--db", as(cluster, "guarded", "demo"), "--lease", "500ms")
	mustSay(t, out, "The order was shipped", "perdure list --db 'postgres://guarded@127.0.0.1")
	if strings.Contains(out, "s3cret") {
		t.Errorf("the output shows the password:\n%s", out)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// Session attributes from the URL or the environment also work for commands that only read.
func TestViewOfServerWithSessionAttributes(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	name := url + "&schema=" + postgrestest.Schema(t, url)
	if code, _, stderr := perdure(t, "", "migrate", "up", "--db", name); code != exitOK {
		t.Fatal(stderr)
	}
	for _, attributes := range []string{"read-write", "primary", "any"} {
		if code, _, stderr := perdure(t, "", "doctor", "--db", name+"&target_session_attrs="+attributes); code != exitOK {
			t.Errorf("%s: exit code %d: %s", attributes, code, stderr)
		}
	}
	t.Setenv(sessionVariable, "read-write")
	if code, _, stderr := perdure(t, "", "doctor", "--db", name); code != exitOK {
		t.Errorf("by the environment: exit code %d: %s", code, stderr)
	}
}
