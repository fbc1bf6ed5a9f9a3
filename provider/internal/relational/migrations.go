package relational

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/perdure/perdure/provider"
)

// Migrations reads the steps of a schema, in order, from the files migrations/NNNN_name.sql.
func Migrations(files fs.ReadDirFS) ([]provider.Migration, error) {
	entries, err := files.ReadDir("migrations")
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	list := make([]provider.Migration, 0, len(entries))
	for _, e := range entries {
		text, err := fs.ReadFile(files, "migrations/"+e.Name())
		if err != nil {
			return nil, fmt.Errorf("migrations: %w", err)
		}
		number, name, _ := strings.Cut(strings.TrimSuffix(e.Name(), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", e.Name(), err)
		}
		list = append(list, provider.Migration{Version: version, Name: name, SQL: string(text)})
	}
	return list, nil
}
