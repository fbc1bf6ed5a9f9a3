package operate_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// Each method of an operator without a client says so, whatever else it is given.
func TestOperatorsWithoutAClientRefuse(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*operate.Operator{
		"no client": operate.New(nil), "a zero client": operate.New(new(client.Client)), "a zero operator": new(operate.Operator), "no operator": nil,
	} {
		of := reflect.ValueOf(o)
		for i := range of.NumMethod() {
			method := of.Method(i)
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			for n := 1; n < method.Type().NumIn(); n++ {
				if n < method.Type().NumIn()-1 || !method.Type().IsVariadic() {
					args = append(args, reflect.Zero(method.Type().In(n)))
				}
			}
			results := method.Call(args)
			last := results[len(results)-1]
			if last.Type().CanSeq2() {
				for _, last = range last.Seq2() {
					break
				}
			}
			if err, _ := reflect.TypeAssert[error](last); !errors.Is(err, client.ErrInvalid) {
				t.Errorf("%s, %s: %v, want ErrInvalid", name, of.Type().Method(i).Name, err)
			}
		}
	}
}
