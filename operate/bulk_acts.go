package operate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/check"
)

// BulkActs lists the acts that a bulk job can do, by name.
func BulkActs() []client.Act {
	return []client.Act{
		client.ActCancel, client.ActDelete, client.ActFork, client.ActMove, client.ActRaise, client.ActRedrive, client.ActReset, client.ActRestart,
		client.ActResume, client.ActRetryNow, client.ActSuspend, client.ActTerminate, client.ActUnblock,
	}
}

// bulkActOf returns an act that jobs can do.
func (o *Operator) bulkActOf(a client.Act) (access.BulkAct, error) {
	found, ok := o.caller.BulkActs()[string(a)]
	if !ok {
		names := make([]string, 0, len(BulkActs()))
		for _, name := range BulkActs() {
			names = append(names, string(name))
		}
		return found, fmt.Errorf("%w: a bulk job cannot do %s: give %s", client.ErrInvalid, check.Quote(string(a)), strings.Join(names, ", "))
	}
	return found, nil
}

// bulkServed refuses a job whose filter the store would not apply, or the check before each act would not judge: it would act on others, too.
func (o *Operator) bulkServed(j *bulk.Job) error {
	if err := bulk.Judges(&j.Filter); err != nil {
		return fmt.Errorf("%w: %w: act on a wider filter, or on chosen instances", errors.ErrUnsupported, err)
	}
	if j.Text != "" && j.Filter.FailureGroup == "" {
		return errTextAlone()
	}
	return o.caller.Store.Filters(&j.Filter)
}

// errTextAlone is the error of a job with a choice of texts and a filter without a group.
func errTextAlone() error {
	return fmt.Errorf("%w: the text of an error needs the group of it: filter by that group, too", client.ErrInvalid)
}
