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
	return replaceColumns(statement, "(%s)[nth] AS %s", " FROM generate_subscripts(ARRAY, 1) nth")
}

// What is left of arrays where a statement is for one row.
var (
	ofOne   = regexp.MustCompile(`ANY\(ARRAY\[([^\]]+)\]\)`)
	amongIt = regexp.MustCompile(`ANY\((\$\d+::\w+)\[\]\)`)
	lengths = regexp.MustCompile(`cardinality\((\$\d+::\w+\[\])\)`)
	arrays  = regexp.MustCompile(`(\$\d+::\w+)\[\]`)
)

// loneRow has a statement take values in place of arrays: a lone step sends one row of each kind, and arrays of one element cost the server as
// much as what it does with them. A first value that is null stands for no row.
func loneRow(statement string) string {
	statement = replaceColumns(statement, "%s AS %s", " WHERE ARRAY IS NOT NULL")
	statement = amongIt.ReplaceAllString(ofOne.ReplaceAllString(statement, "$1"), "$1")
	return arrays.ReplaceAllString(lengths.ReplaceAllString(statement, "($1 IS NOT NULL)::int"), "$1")
}

// replaceColumns writes each column that a statement takes from an array by a format, with its name, and where they come from.
func replaceColumns(statement, each, from string) string {
	return columnwise.ReplaceAllStringFunc(statement, func(found string) string {
		part := columnwise.FindStringSubmatch(found)
		arrays, alias, names := strings.Split(part[1], ","), part[2], strings.Split(part[3], ",")
		if alias == "" {
			alias, names = "w", nil
		}
		list := make([]string, len(arrays))
		for i, array := range arrays {
			name := fmt.Sprintf("c%d", i)
			if names != nil {
				name = strings.TrimSpace(names[i])
			}
			list[i] = fmt.Sprintf(each, strings.TrimSpace(array), name)
		}
		return fmt.Sprintf("(SELECT %s%s) %s", strings.Join(list, ", "), strings.ReplaceAll(from, "ARRAY", arrays[0]), alias)
	})
}
