// Package listing fills a SQL store with many instances and checks what lists and counts of them find and cost. It is for
// tests only.
package listing

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

// base is when the first instance was created.
const base = provider.Time(1_700_000_000_000_000)

// Row is the part of an instance that filters are on.
type Row struct {
	Key      provider.UUID
	ID       string
	Name     string
	Version  string
	Status   provider.Status
	Blocked  bool
	Replaced bool
	Child    bool // of Parent
	Created  provider.Time
	Ended    provider.Time
	Tenant   string // "" for none
	Number   int64
}

// Parent is the key of the parent of some rows.
func Parent() provider.UUID { return key(1 << 40) }

func key(n int64) (u provider.UUID) {
	binary.BigEndian.PutUint64(u[8:], uint64(n))
	return u
}

// row returns the n-th of all rows, as the statements of Fill insert it. Two rows each have the same time.
func row(n, all int64) Row {
	r := Row{
		Key: key(n + 1), ID: fmt.Sprint("order-", n), Name: fmt.Sprint("n", n%10), Version: fmt.Sprint("v", n*3/all),
		Status: provider.StatusCompleted, Created: base + provider.Time(n/2*1000), Number: n, Child: n%(all/20) == 5,
	}
	if n%(all/5) == 7 {
		r.Name, r.Version = "rare", "v0"
	}
	switch {
	case n < 30 || n >= all-all/100:
		r.Status = provider.StatusRunning
	case n%(all/4) == 3:
		r.Status = provider.StatusTerminated
	case n%100 == 0:
		r.Status = provider.StatusFailed
	}
	if n%(all/10) == 1 {
		r.ID = fmt.Sprint("x-", n)
	}
	r.Blocked = r.Status == provider.StatusRunning && n%7 == 0
	if r.Status != provider.StatusRunning {
		r.Ended, r.Replaced = r.Created+100_000, n%50 == 9
	}
	switch {
	case n%2 == 0:
		r.Tenant = "acme"
	case r.Child:
		r.Tenant = "small"
	}
	return r
}

// Rows returns all rows, the newest first.
func Rows(all int64) []Row {
	list := make([]Row, 0, all)
	for n := all - 1; n >= 0; n-- {
		list = append(list, row(n, all))
	}
	return list
}

// A Dialect is how statements differ between stores.
type Dialect struct {
	Table     string // prefix of table names
	Key       string // the key whose number is the text N
	Override  string // lets a statement choose the ID of a kind
	True, No  string // constants
	Recursive string // begins a list of the numbers n from 0 to the text TOTAL, less one
}

// Fill returns the statements that insert all rows.
func (d Dialect) Fill(all int64) []string {
	kinds := make([]string, 0, 31)
	for name := range 10 {
		for version := range 3 {
			kinds = append(kinds, fmt.Sprintf("(%d, 'n%d', 'v%d', 1)", 1+name*3+version, name, version))
		}
	}
	kinds = append(kinds, "(31, 'rare', 'v0', 1)")
	statements := []string{
		"INSERT INTO TABkind (id, name, code_version, engine_level) " + d.Override + " VALUES " + strings.Join(kinds, ", "),
		`NUMBERS, r AS (SELECT n, CASE WHEN n < 30 OR n >= TOTAL - TOTAL / 100 THEN 1 WHEN n % (TOTAL / 4) = 3 THEN 6 WHEN n % 100 = 0 THEN 4
			ELSE 3 END AS status, 1700000000000000 + n / 2 * 1000 AS at FROM numbers)
		INSERT INTO TABinstance (key, id, current, kind, status, execution, version, parent_key, blocked, attributes, created_at, updated_at, ended_at)
		SELECT KEY, CASE WHEN n % (TOTAL / 10) = 1 THEN 'x-' ELSE 'order-' END || n, CASE WHEN status <> 1 AND n % 50 = 9 THEN NO ELSE TRUE END,
			CASE WHEN n % (TOTAL / 5) = 7 THEN 31 ELSE 1 + n % 10 * 3 + n * 3 / TOTAL END, status, 1, KEY,
			CASE WHEN n % (TOTAL / 20) = 5 THEN PARENT END, CASE WHEN status = 1 AND n % 7 = 0 THEN TRUE ELSE NO END, TRUE, at AS created_at, at AS updated_at,
			CASE WHEN status = 1 THEN 0 ELSE at + 100000 END FROM r`,
		`NUMBERS INSERT INTO TABattribute (key, name, kind, text, number) SELECT KEY, 'number', 2, '', n FROM numbers`,
		`NUMBERS INSERT INTO TABattribute (key, name, kind, text, number)
		SELECT KEY, 'tenant', 1, CASE WHEN n % 2 = 0 THEN 'acme' ELSE 'small' END, 0 FROM numbers WHERE n % 2 = 0 OR n % (TOTAL / 20) = 5`,
	}
	numbers := strings.ReplaceAll(d.Recursive, "TOTAL", fmt.Sprint(all))
	for i, s := range statements {
		statements[i] = strings.NewReplacer("NUMBERS", numbers, "TAB", d.Table, "KEY", strings.ReplaceAll(d.Key, "N", "(n + 1)"), "TRUE", d.True,
			"NO ", d.No+" ", "PARENT", strings.ReplaceAll(d.Key, "N", fmt.Sprint(int64(1)<<40)), "TOTAL", fmt.Sprint(all)).Replace(s)
	}
	return statements
}
