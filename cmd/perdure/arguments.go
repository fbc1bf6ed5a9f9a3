package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// arguments checks the number of arguments against the names in the command's usage line: "raise ID EVENT [JSON]"
// takes two or three.
func arguments(cmd *cobra.Command, args []string) error {
	names := strings.Fields(cmd.Use)[1:]
	usage := strings.Join(append([]string{cmd.CommandPath()}, names...), " ")
	if len(args) > len(names) {
		return fmt.Errorf("unexpected argument %q: the command is '%s'", args[len(names)], usage)
	}
	if rest := names[len(args):]; len(rest) > 0 && !strings.HasPrefix(rest[0], "[") {
		return fmt.Errorf("argument %s is missing: the command is '%s'", rest[0], usage)
	}
	return nil
}

// notEmpty returns an error if a flag has an empty value, which must not mean the same as leaving the flag out.
func notEmpty(cmd *cobra.Command, flag string, length int) error {
	if cmd.Flags().Changed(flag) && length == 0 {
		return badUsage("flag --%s is empty: give a value, or leave the flag out", flag)
	}
	return nil
}

// badValue matches the start of the flag parser's error about a value.
var badValue = regexp.MustCompile(`^invalid argument (".*") for ".*(--[a-z-]+)" flag: `)

// flagError names the kind of value that a flag takes if its value cannot be parsed.
func flagError(err error) error {
	parts := badValue.FindStringSubmatch(err.Error())
	if parts == nil {
		return err
	}
	number, ok := errors.AsType[*strconv.NumError](err)
	must := "a duration, such as 500ms or 2s"
	switch {
	case ok && errors.Is(number, strconv.ErrRange):
		must = "a smaller number"
	case ok && number.Func == "ParseBool":
		must = "true or false"
	case ok && number.Func == "ParseFloat":
		must = "a number"
	case ok:
		must = "a whole number"
	case !strings.Contains(err.Error(), "flag: time: "):
		return err
	}
	return fmt.Errorf("flag %s is %s: it must be %s", parts[2], parts[1], must)
}
