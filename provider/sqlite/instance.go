package sqlite

import (
	"fmt"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// instanceColumns are read by scanInstance.
const instanceColumns = relational.InstanceColumns + `, o.sum`

const rowColumns = relational.RowColumns + relational.FailureColumns + `, `

const instanceTables = ` FROM perdure_instance i JOIN perdure_kind k ON k.id = i.kind
	LEFT JOIN perdure_outcome o ON o.key = i.key`

const (
	sqlInstance = `SELECT ` + instanceColumns + instanceTables + ` WHERE i.key = ?`
	// Rows of a list have no result, and perhaps no custom status.
	sqlListed      = `SELECT ` + rowColumns + `o.custom_status, NULL AS result, NULL AS sum` + instanceTables + ` WHERE i.key = ?`
	sqlListedShort = `SELECT ` + rowColumns + `NULL AS custom_status, NULL AS result, NULL AS sum
		FROM perdure_instance i JOIN perdure_kind k ON k.id = i.kind
		LEFT JOIN perdure_outcome o ON i.status = 4 AND o.key = i.key WHERE i.key = ?` // only a failed one has more to read
	sqlAttributes = `SELECT name, kind, text, number FROM perdure_attribute WHERE key = ? ORDER BY name`
)

// scanInstance reads instanceColumns. It reports whether the instance has attributes.
func scanInstance(r *row, in *provider.Instance) (attributes bool) {
	return relational.ScanInstance(sharedRow{r}, in)
}

// instanceOf reads an instance with its attributes. It returns false if there is none.
func instanceOf(db statements, in *provider.Instance, sql string, arg any) (bool, error) {
	attributes := false
	found, err := db.one(sql, func(r *row) { attributes = scanInstance(r, in) }, arg)
	if err != nil {
		return false, fmt.Errorf("perdure_instance %v: %w", arg, err)
	}
	if found && attributes {
		in.Attributes, err = attributesOf(db, in.Key)
	}
	return found, err
}

func attributesOf(db statements, key provider.UUID) (list []provider.Attribute, err error) {
	err = db.each(sqlAttributes, func(r *row) error {
		list = append(list, relational.ScanAttribute(sharedRow{r}, 0))
		return nil
	}, key)
	return list, err
}

// instanceRows are the instances and what describes them.
type instanceRows struct {
	*unit

	rowCache map[provider.UUID]*cachedRow // nil in a transaction of a caller
	unskip   func(provider.UUID)          // lets fetches try an instance again that was damaged
}

// Instance implements [relational.Rows].
func (t *instanceRows) Instance(key provider.UUID) (provider.Instance, error) {
	if in, ok := t.cachedInstance(key); ok {
		return in, nil
	}
	return t.readInstance(key)
}

func (t *instanceRows) readInstance(key provider.UUID) (in provider.Instance, err error) {
	found, err := instanceOf(t.db, &in, sqlInstance, key)
	if err == nil && !found {
		err = fmt.Errorf("instance %s: %w", key, provider.ErrNotFound)
	}
	return in, err
}
