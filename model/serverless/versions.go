package serverless

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// pinned are the modules that decide what a document means, with the versions that Version stands for. A go.mod gives minimums only, so a
// program may link others.
//
//nolint:gochecknoglobals // constant table
var pinned = map[string]string{
	"github.com/itchyny/gojq":       "v0.12.20",
	"github.com/itchyny/timefmt-go": "v0.1.9",
	"go.yaml.in/yaml/v3":            "v3.0.6",
}

// ErrLinked says that the program is built with another version of a module than the interpreter is pinned to. With that, an instance
// could take another way on its replay.
var ErrLinked = errors.New("serverless: another version of a module is linked")

// linked compares what a program is built from with pinned. A program that does not say, for it was built without modules, passes.
func linked(info *debug.BuildInfo) error {
	for _, m := range info.Deps {
		want, ok := pinned[m.Path]
		if !ok {
			continue
		}
		is := m.Version
		if r := m.Replace; r != nil {
			is = "replaced by " + r.Path + " " + r.Version
		}
		if is != want {
			return fmt.Errorf("%w: %s is %s, and version %s of the interpreter needs %s: run go get %s@%s, or drop what needs the other one",
				ErrLinked, m.Path, is, Version, want, m.Path, want)
		}
	}
	return nil
}
