package main

import "github.com/spf13/cobra"

const benchMoved = "bench is a program of its own: in a clone of perdure, run 'cd bench && go run ./cmd/perdure-bench WORKLOAD...'"

// newBench tells those who know the command of earlier versions where it went.
func newBench() *cobra.Command {
	return &cobra.Command{
		Use: "bench", Long: benchMoved, Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error { return badUsage(benchMoved) },
	}
}
