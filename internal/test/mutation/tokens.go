package mutation

import (
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// span is a piece of a source, as byte offsets.
type span struct{ begin, end int }

// word is one token of Go source.
type word struct {
	span

	text string
}

// words splits Go source into tokens without comments, white space and implied semicolons. The source may be a piece of
// a file: text that the scanner rejects becomes a token.
func words(source string) []word {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, []byte(source), func(token.Position, string) {}, 0)
	var out []word
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok == token.SEMICOLON && text != ";" {
			continue
		}
		if text == "" {
			text = tok.String()
		}
		begin := file.Offset(pos)
		out = append(out, word{text: text, span: span{begin, begin + len(text)}})
	}
}

// find returns the spans in source that have the tokens of old.
func find(source, old string) []span {
	in, want := words(source), words(old)
	if len(want) == 0 {
		return nil
	}
	same := func(a, b word) bool { return a.text == b.text }
	var found []span
	for i := range len(in) - len(want) + 1 {
		if run := in[i : i+len(want)]; slices.EqualFunc(run, want, same) {
			found = append(found, span{run[0].begin, run[len(run)-1].end})
		}
	}
	return found
}

// findText returns the spans in source that match old literally.
func findText(source, old string) []span {
	var found []span
	for from := 0; ; {
		i := strings.Index(source[from:], old)
		if i < 0 {
			return found
		}
		found = append(found, span{from + i, from + i + len(old)})
		from += i + len(old)
	}
}
