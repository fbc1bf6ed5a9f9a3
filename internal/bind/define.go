package bind

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"

	"github.com/perdure/perdure/internal/funcname"
)

// Definition holds the arguments of a function Define.
type Definition struct {
	Name    string
	Version string  // of an orchestration's code; "": none
	Code    uintptr // of the function; 0: it is nil
	Err     error   // of the options; nil: they are right
}

var errNilFunc = errors.New("the function is nil: give one")

const (
	module                = "github.com/perdure/perdure/"
	definedOrchestrations = module + "orchestration.Define["
	definedActivities     = module + "activity.Define["
)

// isDefined reports whether a function is the result of a function Define, whose name begins with the prefix.
func isDefined(pointer uintptr, prefix string) bool {
	code := runtime.FuncForPC(pointer)
	return code != nil && strings.HasPrefix(code.Name(), prefix)
}

// nameOf returns the name that was given with Define, else the function's bare name. given is nil for a function that was not defined.
func nameOf(fn any, given *Definition) (name string, defined bool, err error) {
	switch {
	case reflect.ValueOf(fn).IsNil():
		return "", false, errNilFunc
	case given == nil:
		name, err = funcname.Of(fn)
		return name, false, err
	case given.Code == 0:
		return given.Name, true, errNilFunc
	}
	return given.Name, true, nil
}

// definitionKey is the key of the question in the context of an activity.
type definitionKey struct{}

// ActivityDefinition returns the Definition to fill in if Define's function is not to be run but only asked, else nil.
func ActivityDefinition(ctx context.Context) *Definition {
	given, _ := ctx.Value(definitionKey{}).(*Definition)
	return given
}

// definitionOfActivity returns the arguments of Define; nil if fn was not made by it.
func definitionOfActivity[In, Out any](fn func(context.Context, In) (Out, error)) *Definition {
	if !isDefined(reflect.ValueOf(fn).Pointer(), definedActivities) {
		return nil
	}
	var given Definition
	var none In
	asking := context.WithValue(context.Background(), definitionKey{}, &given) //nolint:forbidigo // only carries the question to Define's closure
	_, _ = fn(asking, none)
	return &given
}

// ActivityName returns the stored name of an activity function: the one given by Define
// (defined is then true) or the function's bare name. Closures and generic instances
// without a name are an error.
func ActivityName[In, Out any](fn func(context.Context, In) (Out, error)) (name string, defined bool, err error) {
	return nameOf(fn, definitionOfActivity(fn))
}

// ActivityCode identifies the code of an activity function, behind Define if it was defined. Method
// values of two receivers share their code.
func ActivityCode[In, Out any](fn func(context.Context, In) (Out, error)) uintptr {
	if given := definitionOfActivity(fn); given != nil {
		return given.Code
	}
	return reflect.ValueOf(fn).Pointer()
}

// OrchestrationDefinition is ActivityDefinition for an orchestration function.
func OrchestrationDefinition(c *Context) *Definition {
	if c.more == nil {
		return nil
	}
	return c.more.definition
}

// definitionOfOrchestration is definitionOfActivity for an orchestration function.
func definitionOfOrchestration[C any, P Holder[C], In, Out any](fn func(P, In) (Out, error)) *Definition {
	if !isDefined(reflect.ValueOf(fn).Pointer(), definedOrchestrations) {
		return nil
	}
	var given Definition
	var none In
	ctx := P(new(C))
	ctx.held().more = &more{definition: &given}
	_, _ = fn(ctx, none)
	return &given
}

// OrchestrationName is ActivityName for an orchestration function.
func OrchestrationName[C any, P Holder[C], In, Out any](fn func(P, In) (Out, error)) (name string, defined bool, err error) {
	return nameOf(fn, definitionOfOrchestration[C](fn))
}

// Reference is what is stored of an orchestration function.
type Reference struct {
	Name    string
	Version string // of its code; "": none
	Defined bool   // the function was made by Define
}

// OrchestrationOf is OrchestrationName with the version.
func OrchestrationOf[C any, P Holder[C], In, Out any](fn func(P, In) (Out, error)) (ref Reference, err error) {
	given := definitionOfOrchestration[C](fn)
	ref.Name, ref.Defined, err = nameOf(fn, given)
	if given != nil {
		ref.Version, err = given.Version, cmp.Or(err, given.Err)
	}
	return ref, err
}

// OrchestrationCode is ActivityCode for an orchestration function.
func OrchestrationCode[C any, P Holder[C], In, Out any](fn func(P, In) (Out, error)) uintptr {
	if given := definitionOfOrchestration[C](fn); given != nil {
		return given.Code
	}
	return reflect.ValueOf(fn).Pointer()
}
