package fileprocessing_test

import (
	"context"
	"os"
	"testing"

	"github.com/perdure/perdure/examples/ports/fileprocessing"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// The first upload finds an empty disk, as after the loss of the node.
func TestWorkStartsOverOnAnotherNode(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		sent := ""
		disk := &fileprocessing.Disk{Dir: t.TempDir(), Upload: func(_ context.Context, name string, data []byte) error {
			sent = name + ": " + string(data)
			return nil
		}}
		e.Register(func(reg *runtime.Registry) error { return runtime.AddError(reg, "lost", fileprocessing.ErrLost) })
		orchestrationtest.AddActivities(e, disk)
		converted := 0
		orchestrationtest.Replace(e, disk.Convert, func(ctx context.Context, p fileprocessing.Part) (fileprocessing.Part, error) {
			out, err := disk.Convert(ctx, p)
			if converted++; converted == 1 {
				_, err = disk.Clean(ctx, p.Instance)
			}
			return out, err
		})
		tries, err := orchestrationtest.Start(e, fileprocessing.Process, "data.csv").Wait(e.Context())
		if tries != 2 || err != nil || sent != "data.csv.out: ROWS OF DATA.CSV" {
			t.Errorf("%d tries, %v, sent %q", tries, err, sent)
		}
		if left, err := os.ReadDir(disk.Dir); err != nil || len(left) > 0 {
			t.Errorf("%v is left on the disk, %v", left, err)
		}
	})
}
