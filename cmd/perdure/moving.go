package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/operate"
)

func newExport(a *app) *cobra.Command {
	var opts operate.ExportOptions
	var prefix, name string
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Write instances to a file, to move them to another database",
		Long: "Export writes instances to the new file FILE, or to standard output for -. 'perdure import' brings them into another\n" +
			"database of any kind. With --seal, running instances move, too: they stop here for good. Without it, instances that\n" +
			"have ended are copied, and running ones are refused. Without --id, --prefix and --name everything moves, schedules included.\n\n" +
			"An export that was interrupted is repeated with --again, into another file. To give it up, see 'perdure unseal'.",
		Example: "  perdure export orders.export --seal --yes --db orders.db\n" +
			"  perdure import orders.export --db postgres://app@db/app",
		Args: arguments,
	}
	cmd.Flags().StringSliceVar(&opts.IDs, "id", nil, "an instance by its ID, with its parents and children; may be repeated")
	cmd.Flags().StringVar(&prefix, "prefix", "", "instances whose ID begins with this")
	cmd.Flags().StringVar(&name, "name", "", "instances of this orchestration")
	cmd.Flags().BoolVar(&opts.Seal, "seal", false, "move running instances, too: they stop here for good")
	cmd.Flags().BoolVar(&opts.Again, "again", false, "take instances, too, that an earlier export has sealed; never if its file was imported")
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if prefix != "" || name != "" {
			opts.Filter = &client.Filter{IDPrefix: prefix, Orchestration: name}
		}
		if opts.Seal {
			if err := a.confirm(cmd, *yes, "stop the chosen instances in this database for good"); err != nil {
				return err
			}
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			p := a.newProgress(cmd, "instance")
			opts.Progress = func(m operate.MoveProgress) { p.set(m.Done, m.Total) }
			var res operate.ExportResult
			err := writeNew(cmd, args[0], func(w io.Writer) (err error) {
				res, err = operate.New(c).Export(ctx, w, opts)
				return err
			})
			p.end()
			if err != nil {
				return err
			}
			if args[0] == "-" {
				fmt.Fprintln(cmd.ErrOrStderr(), exportedText(&res))
				return nil
			}
			return a.show(cmd, res, func(w *grid) { fmt.Fprintln(w, exportedText(&res)) })
		})
	}
	return cmd
}

func exportedText(res *operate.ExportResult) string {
	return fmt.Sprintf("exported %s: %d moved, %d copied, %s", amount.Of(res.Moved+res.Copied, "instance"), res.Moved, res.Copied, amount.Of(res.Bytes, "byte"))
}

// writeNew writes a file that did not exist and makes it durable. It removes what a failed write leaves. The name - is standard output.
func writeNew(cmd *cobra.Command, name string, write func(io.Writer) error) error {
	if name == "-" {
		return write(cmd.OutOrStdout())
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return badUsage("%s exists: name a new file", name)
	}
	if err != nil {
		return fmt.Errorf("writing the file: %w", err)
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

func newImport(a *app) *cobra.Command {
	var opts operate.ImportOptions
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Bring instances from a file of 'perdure export' into this database",
		Long: "Import reads FILE, or standard input for -, and stores its instances under the same keys. They run once the whole\n" +
			"file was read and the check of 'perdure doctor' has found nothing. An interrupted import is repeated with the same file.\n\n" +
			"With --back, instances come back to the database that they were exported from.",
		Example: "  perdure import orders.export --db postgres://app@db/app\n  perdure import orders.export --back --yes --db orders.db",
		Args:    arguments,
	}
	cmd.Flags().BoolVar(&opts.Back, "back", false, "replace what was sealed here; never if it runs in another database")
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if opts.Back {
			if err := a.confirm(cmd, *yes, "let the instances of the file run in this database again"); err != nil {
				return err
			}
		}
		in := cmd.InOrStdin()
		if args[0] != "-" {
			f, err := os.Open(args[0])
			if err != nil {
				return fmt.Errorf("reading the file: %w", err)
			}
			defer f.Close() //nolint:errcheck // it was only read
			in = f
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			p := a.newProgress(cmd, "instance")
			opts.Progress = func(m operate.MoveProgress) { p.set(m.Done, m.Total) }
			res, err := operate.New(c).Import(ctx, in, opts)
			p.end()
			if err != nil {
				return err
			}
			return a.show(cmd, res, func(w *grid) {
				fmt.Fprintf(w, "imported %s: %d now here, %d before\n", amount.Of(res.Instances, "instance"), res.Freed, res.Kept)
			})
		})
	}
	return cmd
}

// unsealed is the output of unseal.
type unsealed struct {
	Freed int64 `json:"freed"`
}

func newUnseal(a *app) *cobra.Command {
	list := false
	cmd := &cobra.Command{
		Use:   "unseal",
		Short: "Give up an export: let the instances run here again that it has sealed",
		Long: "Unseal frees all instances that exports of this database have sealed. Never use it if a file of such an export was\n" +
			"imported elsewhere: the instances would run twice. With --list it only prints what is sealed.",
		Example: "  perdure unseal --list --db orders.db\n  perdure unseal --yes --db orders.db",
		Args:    arguments,
	}
	cmd.Flags().BoolVar(&list, "list", false, "print what is sealed, and change nothing")
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !list {
			if err := a.confirm(cmd, *yes, "let all instances run here again that exports have sealed"); err != nil {
				return err
			}
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if list {
				sealed, err := operate.New(c).Sealed(ctx)
				if err != nil {
					return err
				}
				return a.showLines(cmd, sealed, each(sealed), func(w *grid) {
					fmt.Fprintln(w, "ID\tSTATE\tARRIVED\tTRANSFER")
					for i := range sealed {
						fmt.Fprintf(w, "%s\t%s\t%t\t%s\n", plain(sealed[i].ID), sealed[i].State, sealed[i].Arrived, sealed[i].Transfer)
					}
				})
			}
			freed, err := operate.New(c).Unseal(ctx)
			if err != nil {
				return err
			}
			return a.show(cmd, unsealed{freed}, func(w *grid) { fmt.Fprintf(w, "freed %s\n", amount.Of(freed, "instance")) })
		})
	}
	return cmd
}
