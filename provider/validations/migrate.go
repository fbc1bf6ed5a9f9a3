package validations

import (
	"slices"

	"github.com/perdure/perdure/provider"
)

// migrateCases checks an optional feature. The suite skips the cases of a provider without it.
func migrateCases() []testCase {
	return needs(lacking[provider.Migrator], []testCase{
		{
			name: "listed", run: migrateListed,
			rule: "Migrations lists all steps that this release knows, in order, and whether each is applied.",
		},
		{name: "again", run: migrateAgain, rule: "Migrate applies the missing steps."},
		{name: "at-once", run: migrateRace, rule: "Several processes may call it at once."},
	})
}

func migrations(t *trial) []provider.Migration {
	migrator, _ := provider.As[provider.Migrator](t.store)
	list, err := migrator.Migrations(t.ctx)
	t.ok(err)
	return list
}

func migrate(t *trial) {
	migrator, _ := provider.As[provider.Migrator](t.trace.note("Migrate"))
	t.ok(migrator.Migrate(t.ctx))
}

func migrateListed(t *trial) {
	list := migrations(t)
	t.mustf(len(list) > 0, "the schema has no steps, want at least one")
	last := 0
	for n, step := range list {
		t.checkf(step.Name != "" && step.SQL != "", "step %d is %+v, want a name and SQL", n, step)
		t.checkf(step.Version > last, "step %d has version %d, want more than %d", n, step.Version, last)
		last = step.Version
	}
}

func migrateAgain(t *trial) {
	migrate(t)
	i := t.create("i")
	t.unchanged(i.Key, func() { migrate(t) })
	missing := slices.ContainsFunc(migrations(t), func(m provider.Migration) bool { return !m.Applied })
	t.checkf(!missing, "steps are not applied: %+v", migrations(t))
}

func migrateRace(t *trial) {
	i := t.create("i")
	t.unchanged(i.Key, func() { t.parallel(4, func(int) { migrate(t) }) })
	missing := slices.ContainsFunc(migrations(t), func(m provider.Migration) bool { return !m.Applied })
	t.checkf(!missing, "steps are not applied: %+v", migrations(t))
}
