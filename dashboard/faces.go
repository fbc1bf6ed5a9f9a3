package dashboard

import (
	"net/http"
)

// errorField is the Field of a Payload with the text of an error.
const errorField = "error"

// hiddenError stands in place of the text of an error that is not shown.
const hiddenError = "hidden: this dashboard shows no payloads"

// seesFaces reports whether the principal may see excerpts and groups of errors, which quote payloads. A hook that redacts texts would be passed by
// through the keys of groups: equal texts have equal keys.
func (c *call) seesFaces() bool { return c.texts && !c.s.o.HidePayloads && c.s.o.Redact == nil }

// checkFaces refuses who may not see errors. Who could filter, group or count by them would find out what they say.
func (c *call) checkFaces() error {
	if c.seesFaces() {
		return nil
	}
	return refuse(http.StatusForbidden, "forbidden",
		"groups of failures quote payloads, which this dashboard does not show: "+
			"use perdure failures, or a dashboard with Authorize and without HidePayloads and Redact")
}
