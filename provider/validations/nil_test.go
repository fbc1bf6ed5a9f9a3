package validations

import (
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
)

// emptied sets each empty slice of bytes in a result to nil, as a database that knows no empty value.
func emptied[Req, Res any](f *method[Req, Res]) {
	f.after(func(_ Req, res *Res, _ *error) { empty(reflect.ValueOf(res).Elem()) })
}

func empty(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			empty(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			empty(field)
		}
	case reflect.Slice:
		if v.Len() == 0 && v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetZero()
		}
		for n := range v.Len() {
			if v.Type().Elem().Kind() != reflect.Uint8 {
				empty(v.Index(n))
			}
		}
	default: // nothing else in a result holds bytes
	}
}

// A provider may return an empty payload as nil, so no case tells the two apart in a result.
func TestSuiteBearsNilForEmpty(t *testing.T) {
	t.Parallel()
	groups := []string{"payloads", "commit", "close", "values", "slices", "follow", "opener", "mover", "ask", "shared", "renew", "report", "settled", "classes"}
	for _, c := range cases() {
		if !slices.Contains(groups, c.group) || c.slow {
			continue
		}
		t.Run(c.group+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMutant()
				emptied(&m.create)
				emptied(&m.get)
				emptied(&m.steer)
				emptied(&m.turns)
				emptied(&m.tasks)
				emptied(&m.history)
				emptied(&m.list)
				emptied(&m.letters)
				emptied(&m.record)
				emptied(&m.ask)
				emptied(&m.asks)
				emptied(&m.export)
				emptied(&m.resets)
				emptied(&m.forks)
				for _, f := range execute(t.Context(), c, &trial{Full: provider.FullOf(m), beginTx: m.begin}, time.Minute) {
					t.Error(f)
				}
				if err := m.Provider.Close(); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Hour) //nolint:forbidigo // of a bubble's clock: calls that nobody awaits come back
			})
		})
	}
}
