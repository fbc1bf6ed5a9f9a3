// Command perdure inspects and operates durable orchestrations. It has a demo, and commands that start, list, show and
// control the instances of any perdure database.
package main

import (
	"context"
	"os"
)

func main() { os.Exit(int(process(productCode))) }

// process runs a command line, or a worker if another process of this program started this one as a worker.
func process(code workerCode) exitCode {
	configureLogs()
	ctx, stop := withSignals(context.Background())
	defer stop()
	if worker := os.Getenv(workerVariable); worker != "" {
		return runWorker(ctx, worker, code, os.Stdin, os.Stdout, os.Stderr)
	}
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
