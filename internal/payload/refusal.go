package payload

import (
	"strings"
	"unicode/utf8"
)

// refusalMark is the first byte of a refusal. No JSON begins with it.
const refusalMark = '!'

// maxRefusal limits the text of a refusal, in bytes.
const maxRefusal = 500

// Refusal returns what is stored in place of a value that cannot be stored. Refused finds out why.
func Refusal(why string) []byte {
	why = strings.ReplaceAll(strings.ToValidUTF8(why, "?"), "\x00", "?")
	if len(why) >= maxRefusal {
		cut := maxRefusal - 1
		for !utf8.RuneStart(why[cut]) {
			cut--
		}
		why = why[:cut]
	}
	return append([]byte{refusalMark}, why...)
}

// Refused reports whether data is a Refusal, and why the value was refused.
func Refused(data []byte) (why string, refused bool) {
	if len(data) == 0 || data[0] != refusalMark {
		return "", false
	}
	return string(data[1:]), true
}
