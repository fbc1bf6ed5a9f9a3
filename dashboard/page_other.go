package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/perdure/perdure/operate"
)

// rawJSON is the output type of handles here: they pass outputs on as they are.
type rawJSON = json.RawMessage

func fmtInt(n int64) string { return strconv.FormatInt(n, 10) }

// nodesData is what the page of nodes and versions shows.
type nodesData struct {
	Nodes    []operate.NodeInfo
	Versions []operate.VersionUse
	Problem  bool // versions cannot be read
}

// nodes lists nodes, and the versions that they serve or instances run.
func (c *call) nodes() error {
	var data nodesData
	var err error
	if data.Nodes, err = operate.New(c.client).Nodes(c.r.Context()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), countTime)
	defer cancel()
	if data.Versions, err = operate.New(c.client).Versions(ctx, ""); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		c.s.logger.WarnContext(ctx, "versions cannot be listed", "error", err)
		data.Problem = true
	}
	return c.show(http.StatusOK, "nodes", view{Title: "Nodes and versions", Nav: "nodes", Live: true, Data: &data})
}

// queuesData is what the page of queues shows.
type queuesData struct{ Queues []operate.QueueInfo }

// queues lists the queues of activities.
func (c *call) queues() error {
	ctx, cancel := context.WithTimeout(c.r.Context(), countTime)
	defer cancel()
	queues, err := operate.New(c.client).Queues(ctx)
	if err != nil {
		return err
	}
	return c.show(http.StatusOK, "queues", view{Title: "Queues", Nav: "queues", Live: true, Data: &queuesData{queues}})
}

// deadLettersData is what the page of dead letters shows.
type deadLettersData struct {
	Page operate.DeadLetterPage
	Next string
}

// deadLetters lists dead letters.
func (c *call) deadLetters() error {
	page, err := c.deadLettersPage()
	if err != nil {
		return err
	}
	data := deadLettersData{Page: page}
	v := view{Title: "Dead letters", Nav: "letters", Live: true, Data: &data, c: c}
	if page.Cursor != "" {
		data.Next = v.With("cursor", page.Cursor)
	}
	return c.show(http.StatusOK, "letters", v)
}

// auditData is what the page of the audit shows.
type auditData struct {
	Page operate.AuditPage
	Next string
}

// audit lists what principals did.
func (c *call) audit() error {
	page, err := c.auditPage()
	if err != nil {
		return err
	}
	data := auditData{Page: page}
	v := view{Title: "Audit", Nav: "audit", Live: c.param("cursor") == "", Data: &data, c: c}
	if page.Cursor != "" {
		data.Next = v.With("cursor", page.Cursor)
	}
	return c.show(http.StatusOK, "audit", v)
}
