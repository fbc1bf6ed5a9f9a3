package dashboard

import (
	"fmt"
	"html/template"
	"io/fs"
	"strings"
)

// templates are the pages by name.
type templates map[string]*template.Template

// loadTemplates parses the embedded pages. Each has the layout and the parts, and defines "main".
func loadTemplates() (templates, error) {
	base, err := template.New("layout.html").Funcs(functions()).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	pages := templates{}
	for _, file := range names {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "templates/"), ".html")
		page, err := base.Clone()
		if err == nil {
			page, err = page.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: page %s: %w", errOptions, name, err)
		}
		pages[name] = page
	}
	return pages, nil
}

func functions() template.FuncMap {
	return template.FuncMap{
		"when": when, "clock": clock, "offset": offset, "span": spanText, "lower": strings.ToLower, "clip": clip, "clipid": clipID, "line": firstLine,
		"attribute": func(v any) string { return attributeOf(v).Value },
		"dict":      dict,
		"join":      strings.Join,
		"count":     group,
		"amount":    amountText,
		"bytes":     sizeText,
		"bytes64":   func(n int) string { return sizeText(int64(n)) },
		"number":    func(n int) string { return group(int64(n)) },
		"step":      stepText,
		"slot":      slotText,
		"stay":      stayText,
	}
}

// dict makes the argument of a template that needs several values.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("%d arguments", len(pairs))
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m, nil
}
