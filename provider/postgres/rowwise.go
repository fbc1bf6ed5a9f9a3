package postgres

import (
	"fmt"
	"regexp"
	"strings"
)

// columnwise finds the rows that a statement takes from several arrays, with the names of the columns if it gives them any.
var columnwise = regexp.MustCompile(`unnest\((\$\d+::\w+\[\](?:,\s*\$\d+::\w+\[\])+)\)(?:\s+(\w+)\s*\(([^)]*)\))?`)

// rowwise has a statement pick the elements of its arrays. What unnest does instead costs more than all else that a lone step does: it
// keeps the rows of each array in a store of its own.
func rowwise(statement string) string {
	return columnwise.ReplaceAllStringFunc(statement, func(found string) string {
		part := columnwise.FindStringSubmatch(found)
		arrays, alias, names := strings.Split(part[1], ","), part[2], strings.Split(part[3], ",")
		if alias == "" {
			alias, names = "w", nil
		}
		b := &strings.Builder{}
		for i, array := range arrays {
			name := fmt.Sprintf("c%d", i)
			if names != nil {
				name = strings.TrimSpace(names[i])
			}
			fmt.Fprintf(b, ", (%s)[nth] AS %s", strings.TrimSpace(array), name)
		}
		return fmt.Sprintf("(SELECT %s FROM generate_subscripts(%s, 1) nth) %s", b.String()[2:], arrays[0], alias)
	})
}
