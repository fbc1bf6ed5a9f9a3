package memory

import (
	"crypto/sha256"
	"slices"

	"github.com/perdure/perdure/provider"
)

// hasRequest reports whether Steer has acted on the instance under the request ID.
func (i *instance) hasRequest(request string) bool {
	return request != "" && slices.Contains(i.acts, actOf(request))
}

// actOf returns what is kept of a request ID.
func actOf(request string) string {
	sum := sha256.Sum256([]byte(request))
	return string(sum[:provider.ActBytes])
}

// addRequest keeps the last request IDs.
func (i *instance) addRequest(request string) {
	if request == "" {
		return
	}
	i.acts = append(i.acts, actOf(request))
	if over := len(i.acts) - provider.MaxActs; over > 0 {
		i.acts = slices.Delete(i.acts, 0, over)
	}
}
