package failure

import "strings"

// alike returns a text in which what differs each time stands as its kind: UUIDs, dates and times, hexadecimal numbers of 8 digits or more, and
// numbers of 6 digits or more. Shorter numbers stay, since they tell errors apart: 404 is not 503.
func alike(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		n, kind := 0, ""
		if shaped(text[i:], uuid) {
			n, kind = len(uuid), "<uuid>"
		} else if i == 0 || !isWord(text[i-1]) {
			n, kind = token(text[i:])
		}
		if n == 0 && (i == 0 || !isHex(text[i-1]) || !isDigit(text[i-1]) && isDigit(text[i])) {
			n, kind = number(text, i)
		}
		if n == 0 {
			out.WriteByte(text[i])
			i++
			continue
		}
		out.WriteString(kind)
		i += n
	}
	return out.String()
}

// uuid is the form of a UUID: see shaped.
const uuid = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh"

// token returns the length of the date or time at the beginning of s, and what stands for it.
func token(s string) (n int, kind string) {
	if strings.HasPrefix(s, "m=+") || strings.HasPrefix(s, "m=-") { // the monotonic part that time.Time.String adds
		if n := digits(s[3:], true); n > 0 {
			return 3 + n, "<time>"
		}
	}
	if shaped(s, "dddd-dd-dd") || shaped(s, "dddd/dd/dd") {
		n = len("dddd-dd-dd")
		if n < len(s) && (s[n] == 'T' || s[n] == 't' || s[n] == ' ') {
			if more := clock(s[n+1:]); more > 0 {
				n += 1 + more
			}
		}
	} else {
		n = clock(s)
	}
	if n == 0 || wordAt(s, n) {
		return 0, ""
	}
	return n, "<time>"
}

// clock returns the length of the time of day at the beginning of s, such as "19:16:31.123", "19:16:31Z" or "19:16:31 +0200"; 0: there is none.
func clock(s string) int {
	if !shaped(s, "dd:dd:dd") {
		return 0
	}
	n := len("dd:dd:dd")
	if n+1 < len(s) && (s[n] == '.' || s[n] == ',') && isDigit(s[n+1]) {
		n += 1 + digits(s[n+1:], false)
	}
	switch zone := s[n:]; {
	case strings.HasPrefix(zone, "Z") || strings.HasPrefix(zone, "z"):
		n++
	case shaped(zone, "+dd:dd"), shaped(zone, "-dd:dd"), shaped(zone, " +dddd"), shaped(zone, " -dddd"):
		n += 6
	case shaped(zone, "+dddd"), shaped(zone, "-dddd"):
		n += 5
	}
	return n
}

// number returns the length of the long number at i, and what stands for it. It is all digits that follow each other there. Within hexadecimal
// digits it reads only decimal ones, of which each is read once: a text may be long, and who chose it may be hostile.
func number(text string, i int) (n int, kind string) {
	if i > 0 && isHex(text[i-1]) {
		if n = digits(text[i:], false); n >= 6 && !isDigit(text[i-1]) {
			return n, "<n>"
		}
		return 0, ""
	}
	hexDigits, decimal, numeric := 0, 0, false
	for j := i; j < len(text) && isHex(text[j]); j++ {
		hexDigits++
		numeric = numeric || isDigit(text[j])
		if decimal == j-i && isDigit(text[j]) {
			decimal++
		}
	}
	switch {
	case hexDigits >= 8 && (numeric || !besideWord(text, i, hexDigits)):
		if decimal == hexDigits {
			return decimal, "<n>"
		}
		return hexDigits, "<hex>"
	case decimal >= 6:
		return decimal, "<n>"
	default:
		return 0, ""
	}
}

// besideWord reports whether n bytes at i are a part of a longer word.
func besideWord(text string, i, n int) bool { return i > 0 && isWord(text[i-1]) || wordAt(text, i+n) }

func wordAt(s string, i int) bool { return i < len(s) && isWord(s[i]) }

// shaped reports whether s begins with a pattern, in which d is a digit, h a hexadecimal one, and anything else itself.
func shaped(s, pattern string) bool {
	if len(s) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		switch c := pattern[i]; {
		case c == 'd' && !isDigit(s[i]), c == 'h' && !isHex(s[i]), c != 'd' && c != 'h' && s[i] != c:
			return false
		}
	}
	return true
}

// digits returns how many digits s begins with, with a point among them if that is allowed.
func digits(s string, point bool) (n int) {
	for n < len(s) && (isDigit(s[n]) || point && s[n] == '.') {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
