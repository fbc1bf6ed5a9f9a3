package bulk

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// QuoteText returns the form in which a preview shows the text of an error: in double quotes, on one line, as Go does. ParseText reads it.
func QuoteText(text string) string { return strconv.Quote(text) }

// ParseText reads the text of an error as a person or a program gives it: in double quotes, as a preview shows it or as JSON has it, or else as
// it is. A text that itself begins with a double quote has to be quoted.
func ParseText(given string) (string, error) {
	if !strings.HasPrefix(given, `"`) {
		return given, nil
	}
	if text, err := strconv.Unquote(given); err == nil {
		return text, nil
	}
	var text string
	if err := json.Unmarshal([]byte(given), &text); err != nil {
		return "", fmt.Errorf("it begins with a double quote, and is no text in double quotes: give it as the preview shows it: %w", err)
	}
	return text, nil
}
