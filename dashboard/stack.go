package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// shownError is the text of an error on a page.
type shownError struct {
	Text   string // without the stack
	User   string // frames of the user's code; "" if there is no stack, or another error of the page has shown it
	Engine string // frames of perdure and of Go's runtime
	Frames int    // of Engine
	ID     string // of the stack on the page
	Same   bool   // another error of the page has shown the stack
}

// Error returns the text of an error as the principal may see it, with the stack of a panic apart. A page shows each stack once.
func (v *view) Error(text string) shownError {
	head, frames := cutStack(v.c.text(text)) // Redact sees all of it
	shown := shownError{Text: head}
	if len(frames) == 0 || !v.c.seesFaces() { // what Redact makes of a stack has no frames
		return shown
	}
	var user, engine []string
	for _, f := range frames {
		if ofEngine(f) {
			engine = append(engine, f)
		} else {
			user = append(user, f)
		}
	}
	if len(user) == 0 {
		user, engine = engine, nil
	}
	hash := sha256.Sum256([]byte(strings.Join(user, "\n")))
	shown.ID = "stack-" + hex.EncodeToString(hash[:6])
	if shown.Same = v.c.stacks[shown.ID]; shown.Same {
		return shown
	}
	if v.c.stacks == nil {
		v.c.stacks = map[string]bool{}
	}
	v.c.stacks[shown.ID] = true
	shown.User, shown.Engine, shown.Frames = strings.Join(user, "\n"), strings.Join(engine, "\n"), len(engine)
	return shown
}

var (
	goroutine = regexp.MustCompile(`(?m)^goroutine \d+ \[[^\]\n]*\]:$`)
	arguments = regexp.MustCompile(`\((0x[^()]*|\{[^()]*|\.\.\.)\)$`)
	offsets   = regexp.MustCompile(` \+0x[0-9a-f]+$`)
)

// cutStack returns a text without the stack of Go that it ends with, and the frames of that: function, file and line, without arguments and addresses,
// which differ each time.
func cutStack(text string) (head string, frames []string) {
	at := goroutine.FindStringIndex(text)
	if at == nil {
		return text, nil
	}
	lines := strings.Split(text[at[1]:], "\n")
	for i := 0; i+1 < len(lines); i++ {
		if file, ok := strings.CutPrefix(lines[i+1], "\t"); ok && lines[i] != "" {
			function := arguments.ReplaceAllString(lines[i], "")
			frames = append(frames, function+"\n    "+offsets.ReplaceAllString(file, ""))
			i++
		}
	}
	if len(frames) == 0 {
		return text, nil
	}
	return strings.TrimRight(text[:at[0]], "\n "), frames
}

// ofEngine reports whether a frame is of perdure itself or of Go's runtime.
func ofEngine(frame string) bool {
	frame = strings.TrimPrefix(frame, "created by ")
	if rest, ours := strings.CutPrefix(frame, "github.com/perdure/perdure/"); ours {
		return !strings.HasPrefix(rest, "internal/sample.") && !strings.HasPrefix(rest, "examples/") && !strings.Contains(rest, "_test.")
	}
	for _, prefix := range []string{"runtime.", "runtime/", "panic(", "panic\n", "reflect.", "internal/", "iter.", "testing.", "sync."} {
		if strings.HasPrefix(frame, prefix) {
			return true
		}
	}
	return false
}
