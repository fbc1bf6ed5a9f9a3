package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/perdure/perdure/client"
)

// TrustedHeader are the settings of AuthorizeHeader.
type TrustedHeader struct {
	// Name of the header in which the proxy says who the user is, such as "X-Forwarded-User". The proxy must remove it from what it receives.
	Name string
	// Proxies are the networks that the proxy connects from. The header counts for nothing in a request from elsewhere.
	Proxies []netip.Prefix
	// Roles are the roles of users by name. Others have the role Others, or no access if AdmitOthers is false.
	Roles       map[string]client.Role
	AdmitOthers bool
	Others      client.Role
}

// AuthorizeHeader returns a function for Options.Authorize, for a proxy that has authenticated the user. It refuses a request that does
// not come from the proxy, and one with the header missing, empty or given twice. The error is client.ErrInvalid for settings without
// a name or a network.
func AuthorizeHeader(t TrustedHeader) (func(*http.Request) (client.Principal, error), error) {
	switch {
	case t.Name == "" || http.CanonicalHeaderKey(t.Name) == "Host":
		return nil, badOption("the trusted header is %q: give its name, such as X-Forwarded-User", t.Name)
	case len(t.Proxies) == 0:
		return nil, badOption("there is no network of a proxy: give TrustedHeader.Proxies, such as 10.0.0.7/32")
	}
	for _, p := range t.Proxies {
		if !p.IsValid() {
			return nil, badOption("the network of a proxy is not valid: give an address and a length, such as 10.0.0.7/32")
		}
	}
	return t.authorize, nil
}

func (t *TrustedHeader) authorize(r *http.Request) (none client.Principal, err error) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return none, fmt.Errorf("the peer's address %q cannot be read: %w", r.RemoteAddr, err)
	}
	if addr := peer.Addr().Unmap().WithZone(""); !t.trusts(addr) {
		return none, fmt.Errorf("the request comes from %v, which is no proxy", addr)
	}
	given := r.Header.Values(t.Name)
	if len(given) != 1 || given[0] == "" || strings.Contains(given[0], ",") {
		return none, fmt.Errorf("the header %s came %d times, is empty or has a comma: the proxy must set it once, to one name", t.Name, len(given))
	}
	role, known := t.Roles[given[0]]
	if !known && !t.AdmitOthers {
		return none, errors.New("the user has no role")
	}
	if !known {
		role = t.Others
	}
	return client.Principal{Name: given[0], Role: role}, nil
}

func (t *TrustedHeader) trusts(addr netip.Addr) bool {
	for _, p := range t.Proxies {
		if p.Masked().Contains(addr) {
			return true
		}
	}
	return false
}
