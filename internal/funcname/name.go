package funcname

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"unicode"
)

// ErrNoName is wrapped by every error of Of.
var ErrNoName = errors.New("function has no name to be stored under")

// Of returns the stored name of fn: Checkout for a function, Type.Method for a method value or method expression. The
// error for a function without a lasting name says how to give it one.
func Of(fn any) (string, error) {
	v := reflect.ValueOf(fn)
	switch {
	case !v.IsValid():
		return "", fmt.Errorf("%w: it is nil", ErrNoName)
	case v.Kind() != reflect.Func:
		return "", fmt.Errorf("%w: %T is not a function", ErrNoName, fn)
	case v.IsNil():
		return "", fmt.Errorf("%w: it is a nil %T", ErrNoName, fn)
	}
	f := runtime.FuncForPC(v.Pointer())
	if f == nil {
		return "", nameless("%T has none in this binary", fn)
	}
	return parse(f.Name())
}

// Pointer identifies the code of fn, or is 0 if fn is no function. Equal names with
// different pointers are different functions. Method values of two receivers have the
// same pointer, and so may closures.
func Pointer(fn any) uintptr {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Func {
		return 0
	}
	return v.Pointer()
}

// IsMethodValue reports whether a code pointer, as returned by Pointer, is that of a method value. Its receiver
// cannot be seen.
func IsMethodValue(pointer uintptr) bool {
	f := runtime.FuncForPC(pointer)
	return f != nil && strings.HasSuffix(f.Name(), "-fm")
}

// nameless returns an error about a function that can be named explicitly.
func nameless(format string, args ...any) error {
	return fmt.Errorf("%w: %s: name it with Define(\"name\", fn) and use the result in its place", ErrNoName, fmt.Sprintf(format, args...))
}

// parse returns the stored name for the name of a symbol. It refuses everything that is not plainly a function or a
// method, so also symbols of later compilers.
func parse(symbol string) (string, error) {
	// Dots in the last element of an import path are escaped, so the first one after
	// the last slash ends the path.
	_, name, found := strings.Cut(symbol[strings.LastIndexByte(symbol, '/')+1:], ".")
	name = strings.TrimSuffix(name, "-fm") // marks method values
	receiver, method, isMethod := strings.Cut(name, ".")
	switch {
	case strings.Contains(name, "[...]"):
		return "", nameless("%s is an instance of a generic function or type, and all instances share that name", symbol)
	case symbol == "reflect.makeFuncStub" || symbol == "reflect.methodValueCall":
		return "", nameless("it was made by package reflect, and all such functions are called %s", symbol)
	case strings.HasPrefix(symbol, "go:"): // not of a package
		return "", nameless("%s is no function of a package", symbol)
	case found && !isMethod && isIdentifier(name):
		return name, nil
	case isClosure(name):
		return "", nameless("%s is a closure, and the compiler changes the names of closures as it likes", symbol)
	}
	if inner, ok := strings.CutPrefix(receiver, "(*"); ok {
		receiver = strings.TrimSuffix(inner, ")")
	}
	if !isIdentifier(receiver) || !isIdentifier(method) {
		return "", nameless("%s is neither a top-level function nor a method of a named type", symbol)
	}
	return receiver + "." + method, nil
}

// isClosure reports whether the last part of a dotted name is made up: func1, or the bare number of a closure within
// a closure. A method of that name is taken for one.
func isClosure(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return false
	}
	last := name[dot+1:]
	for _, word := range []string{"func", "gowrap", "deferwrap"} {
		if rest, ok := strings.CutPrefix(last, word); ok && isNumber(rest) {
			return true
		}
	}
	return isNumber(last)
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}
