package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the output of the command version.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Schema   int    `json:"schema"`         // of a SQLite file
	Postgres int    `json:"postgresSchema"` // of a Postgres schema
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of perdure, its database schema and Go",
		Args:  arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := buildVersion()
			var err error
			if v.Schema, err = newest(cmd.Context(), file("")); err != nil {
				return err
			}
			if v.Postgres, err = newest(cmd.Context(), server{}); err != nil {
				return err
			}
			return a.show(cmd, v, func(w *grid) {
				row(w, "perdure", v.Version)
				if v.Revision != "" {
					row(w, "revision", v.Revision)
				}
				row(w, "schema", fmt.Sprintf("%d (SQLite), %d (Postgres)", v.Schema, v.Postgres))
				row(w, "go", v.Go)
				row(w, "platform", v.Platform)
			})
		},
	}
}

// newest returns the newest schema version of a kind of database.
func newest(ctx context.Context, db database) (version int, err error) {
	steps, err := db.script(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading migrations: %w", err)
	}
	for _, step := range steps {
		version = max(version, step.Version)
	}
	return version, nil
}

// buildVersion reads the build information that the Go command stamped into the binary.
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
