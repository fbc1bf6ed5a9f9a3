package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// arguments checks the number of arguments against the command's line of usage, which
// names them: "raise ID EVENT [JSON]" takes two or three.
func arguments(cmd *cobra.Command, args []string) error {
	names := strings.Fields(cmd.Use)[1:]
	usage := strings.Join(append([]string{cmd.CommandPath()}, names...), " ")
	if len(args) > len(names) {
		return fmt.Errorf("argument %q is too many: the command is '%s'", args[len(names)], usage)
	}
	if rest := names[len(args):]; len(rest) > 0 && !strings.HasPrefix(rest[0], "[") {
		return fmt.Errorf("argument %s is missing: the command is '%s'", rest[0], usage)
	}
	return nil
}

// flagError says what a flag takes where the parsing of its value failed.
func flagError(err error) error {
	number, ok := errors.AsType[*strconv.NumError](err)
	text, cause, _ := strings.Cut(err.Error(), " flag: ")
	switch {
	case ok && errors.Is(number, strconv.ErrRange):
		return fmt.Errorf("%s flag: the number is too large", text)
	case ok && number.Func == "ParseBool":
		return fmt.Errorf("%s flag: give true or false", text)
	case ok:
		return fmt.Errorf("%s flag: give a whole number", text)
	case strings.HasPrefix(cause, "time: "):
		return fmt.Errorf("%s flag: give a duration, such as 500ms or 2s", text)
	}
	return err
}
