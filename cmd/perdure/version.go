package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/provider/sqlite"
)

// version is what the command of that name prints.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Schema   int    `json:"schema"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of perdure, its database schema and Go",
		Args:  arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			steps, err := sqlite.Migrations(cmd.Context(), "")
			if err != nil {
				return fmt.Errorf("reading migrations: %w", err)
			}
			v := buildVersion()
			for _, step := range steps {
				v.Schema = max(v.Schema, step.Version)
			}
			return a.show(cmd, v, func(w *tabwriter.Writer) {
				row(w, "perdure", v.Version)
				if v.Revision != "" {
					row(w, "revision", v.Revision)
				}
				row(w, "schema", v.Schema)
				row(w, "go", v.Go)
				row(w, "platform", v.Platform)
			})
		},
	}
}

// buildVersion reads what the Go command stamped into the binary.
func buildVersion() version {
	v := version{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if v.Revision != "" {
		v.Revision += dirty
	}
	return v
}
