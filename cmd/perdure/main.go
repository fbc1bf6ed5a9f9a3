// Command perdure shows and operates durable orchestrations: a demo, and commands that
// start, list, show and steer the instances of any perdure database.
package main

import (
	"context"
	"os"
)

func main() {
	configureLogs()
	ctx, stop := withSignals(context.Background())
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(int(code))
}
