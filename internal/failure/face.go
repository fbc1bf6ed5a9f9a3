package failure

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/history"
)

// The limits of an excerpt, in bytes. With all of them it fits into provider.MaxExcerpt, also when a codec has encrypted it.
const (
	excerptText  = 256
	excerptName  = 96
	excerptBytes = 640 // encoded
)

// groupRule is the version of the rule by which failures are alike. It changes with anything that changes the key of any failure. Keys of two
// rules are never equal, so a release with a new rule begins new groups.
const groupRule = "1"

// Face is what a list shows of the failure that an instance has ended with.
type Face struct {
	Text     string // of the error, without the stack of a panic, at most 256 bytes
	Activity string // that failed; "": not known, or none
	Type     string // of the first error in the tree that has a type or a code; "": none has one
	Code     string // as Type
	Frame    string // of a panic: the function of the user that panicked, with its line; "": not known
	Cut      bool   // Text is the beginning of a longer one
}

// faceFields is how a Face is stored. A later version keeps the meaning of the fields that are here.
type faceFields struct {
	Version  int    `json:"v"`
	Text     string `json:"text"`
	Activity string `json:"activity,omitempty"`
	Type     string `json:"type,omitempty"`
	Code     string `json:"code,omitempty"`
	Frame    string `json:"frame,omitempty"`
	Cut      bool   `json:"cut,omitempty"`
}

// FaceOf returns the face of a failure of an activity, and the key of its group. Failures of one orchestration with one key are alike: they have
// the same activity, type, code and text, except for parts of the text that differ each time; panics have the same frame, too. The key begins with
// the version of the rule. It depends on nothing but the arguments.
func FaceOf(f *history.Failure, orchestration, activity string) (Face, string) {
	named := firstNamed(f)
	text, stack := f.Message, ""
	if isPanic(f) {
		text, stack, _ = strings.Cut(f.Message, "\ngoroutine ")
	}
	face := Face{Activity: cutName(activity), Type: cutName(named.Type), Code: cutName(named.Code), Frame: cutName(userFrame(stack))}
	face.Text = clip(valid(text), excerptText)
	face.Cut = len(face.Text) < len(text)
	sum := sha256.New()
	for _, part := range []string{groupRule, orchestration, activity, named.Type, named.Code, alike(valid(text)), userFrame(stack)} {
		_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = sum.Write([]byte(part))
	}
	return face, groupRule + "-" + hex.EncodeToString(sum.Sum(nil)[:10])
}

// Encode returns the excerpt that is stored of a face. A text that would make it too long is shortened.
func (f *Face) Encode() []byte {
	fields := faceFields{1, f.Text, f.Activity, f.Type, f.Code, f.Frame, f.Cut}
	for {
		data, err := json.Marshal(&fields)
		switch {
		case err != nil:
			return nil
		case len(data) <= excerptBytes:
			return data
		case fields.Text == "":
			fields.Type, fields.Frame = "", ""
		default: // characters that JSON escapes
			fields.Text, fields.Cut = clip(fields.Text, len(fields.Text)*3/4), true
		}
	}
}

var errExcerpt = errors.New("the excerpt is no such thing")

// DecodeFace reads what Encode wrote. The error is a history.SealedError for an excerpt that a codec has encrypted.
func DecodeFace(data []byte) (Face, error) {
	if err := history.SealedIn(data); err != nil {
		return Face{}, err
	}
	var fields faceFields
	if err := json.Unmarshal(data, &fields); err != nil || fields.Version < 1 {
		return Face{}, fmt.Errorf("%w: %w", errExcerpt, cmp.Or(err, history.ErrCorrupt))
	}
	return Face{fields.Text, fields.Activity, fields.Type, fields.Code, fields.Frame, fields.Cut}, nil
}

// firstNamed returns the first failure in the tree that has a type or a code, f if none has.
func firstNamed(f *history.Failure) *history.Failure {
	if found := findFailure(f, func(f *history.Failure) bool { return f.Type != "" || f.Code != "" }); found != nil {
		return found
	}
	return f
}

func isPanic(f *history.Failure) bool {
	kind := sentinelOf(ErrPanic)
	return findFailure(f, func(f *history.Failure) bool { return f.Code == kind.code }) != nil
}

func findFailure(f *history.Failure, is func(*history.Failure) bool) *history.Failure {
	if is(f) {
		return f
	}
	for i := range f.Causes {
		if found := findFailure(&f.Causes[i], is); found != nil {
			return found
		}
	}
	return nil
}

func cutName(s string) string { return clip(valid(s), excerptName) }

// clip returns the beginning of s that has at most limit bytes and no half of a character.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// userFrame returns the function of the user that panicked and its line, such as "shop.charge:42", from the text of debug.Stack without its
// first words: the first frame that is not of package runtime, nor of perdure itself. "" means that there is none.
func userFrame(stack string) string {
	lines := strings.Split(stack, "\n")
	for i := 1; i+1 < len(lines); i++ {
		at, isFile := strings.CutPrefix(lines[i+1], "\t")
		end := strings.LastIndexByte(lines[i], '(')
		if !isFile || end <= 0 || strings.HasPrefix(lines[i], "created by ") {
			continue
		}
		name := lines[i][:end]
		if isEngine(name) {
			continue
		}
		return name + ":" + lineOf(at)
	}
	return ""
}

// lineOf returns the line of "/path/file.go:42 +0x1d". The path differs between machines.
func lineOf(at string) string {
	at, _, _ = strings.Cut(at, " ")
	return at[strings.LastIndexByte(at, ':')+1:]
}

// isEngine reports whether a function is part of package runtime or of perdure. Examples and tests of perdure are code of users.
func isEngine(function string) bool {
	if function == "panic" || strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "runtime/") {
		return true
	}
	in, own := strings.CutPrefix(function, "github.com/perdure/perdure")
	if !own || in == "" || in[0] != '.' && in[0] != '/' {
		return false
	}
	dir := in[:strings.LastIndexByte(in, '/')+1]
	pkg, _, _ := strings.Cut(in[len(dir):], ".")
	return !strings.HasSuffix(pkg, "_test") && !strings.HasPrefix(in, "/examples/") && !strings.HasPrefix(in, "/internal/test/")
}
