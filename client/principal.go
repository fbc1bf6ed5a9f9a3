package client

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// ErrForbidden means that the principal of the client may not do that: see Client.As. Nothing was stored.
var ErrForbidden = access.ErrForbidden

// Role is a set of acts. Each role has those of the one before.
type Role uint8

// The roles. The zero value has the fewest rights.
const (
	RoleViewer   Role = iota // reads and queries
	RoleOperator             // does all that can be undone or repeated: all acts but those of admins
	RoleAdmin                // deletes, prunes, discards, exports, imports, and sets the retention
)

// roleNames are the names of the roles in texts.
//
//nolint:gochecknoglobals // constant table
var roleNames = [...]string{"viewer", "operator", "admin"}

// String returns the role's name, such as "viewer".
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("Role(%d)", r)
}

// MarshalText writes the role's name.
func (r Role) MarshalText() ([]byte, error) {
	if int(r) >= len(roleNames) {
		return nil, fmt.Errorf("%w: role %d: give RoleViewer, RoleOperator or RoleAdmin", ErrInvalid, r)
	}
	return []byte(roleNames[r]), nil
}

// UnmarshalText reads a role's name.
func (r *Role) UnmarshalText(text []byte) error {
	i := slices.Index(roleNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("%w: role %s: give viewer, operator or admin", ErrInvalid, check.Quote(string(text)))
	}
	*r = Role(i)
	return nil
}

// Act is something that a principal may do.
type Act string

// The acts. Viewers have the first two, operators those up to ActBulk, and admins have all.
const (
	ActView  Act = "view"
	ActQuery Act = "query"

	ActStart       Act = "start"
	ActRaise       Act = "raise"
	ActUpdate      Act = "update"
	ActCancel      Act = "cancel"
	ActTerminate   Act = "terminate"
	ActSuspend     Act = "suspend"
	ActResume      Act = "resume"
	ActUnblock     Act = "unblock"
	ActDropMessage Act = "drop-message"
	ActRestart     Act = "restart"
	ActReset       Act = "reset"
	ActFork        Act = "fork"
	ActMove        Act = "move"
	ActActivity    Act = "activity"  // retry, pause, resume, complete or fail a pending activity
	ActRetryNow    Act = "retry-now" // of activities that wait for their next attempt, by a bulk job
	ActRedrive     Act = "redrive"   // of a dead letter
	ActQueue       Act = "queue"     // pause and resume
	ActNode        Act = "node"      // drain
	ActSchedule    Act = "schedule"  // create, change, trigger, delete
	ActBulk        Act = "bulk"      // begin, stop, resume; each act of the job is checked, too

	ActDelete    Act = "delete"
	ActPrune     Act = "prune"
	ActDiscard   Act = "discard" // a dead letter
	ActRetention Act = "retention"
	ActExport    Act = "export"
	ActImport    Act = "import"
	ActBackup    Act = "backup"
	ActUpgrade   Act = "upgrade"
)

// acts has the least role of each act.
//
//nolint:gochecknoglobals // constant table
var acts = map[Act]Role{
	ActView: RoleViewer, ActQuery: RoleViewer,
	ActStart: RoleOperator, ActRaise: RoleOperator, ActUpdate: RoleOperator, ActCancel: RoleOperator, ActTerminate: RoleOperator,
	ActSuspend: RoleOperator, ActResume: RoleOperator, ActUnblock: RoleOperator, ActDropMessage: RoleOperator, ActRestart: RoleOperator,
	ActReset: RoleOperator, ActFork: RoleOperator, ActMove: RoleOperator, ActActivity: RoleOperator, ActRetryNow: RoleOperator, ActRedrive: RoleOperator,
	ActQueue: RoleOperator, ActNode: RoleOperator, ActSchedule: RoleOperator, ActBulk: RoleOperator,
	ActDelete: RoleAdmin, ActPrune: RoleAdmin, ActDiscard: RoleAdmin, ActRetention: RoleAdmin, ActExport: RoleAdmin, ActImport: RoleAdmin,
	ActBackup: RoleAdmin, ActUpgrade: RoleAdmin,
}

// Principal is a person or a program that operates a store. Schedules and bulk jobs store the one that made them, and act with its rights.
type Principal struct {
	Name string `json:"name"` // 1 to 512 bytes, for the audit
	Role Role   `json:"role"`
}

// May reports whether the principal may do that.
func (p Principal) May(a Act) bool {
	least, known := acts[a]
	return known && p.Role >= least && int(p.Role) < len(roleNames)
}

// As returns the client of a principal on the same store. Each act is checked against the rights of the principal: ErrForbidden says that it
// lacks one. Each act that changes something is written to the audit before it begins, and its outcome afterwards; operate.Operator.Audit reads that. So it
// costs two more writes and a read, and cannot be part of a transaction of the caller. Reading is not written down.
//
// A heartbeat of an activity needs the right to ActActivity, and is not written to the audit: it is the progress of work, and comes often.
//
// A client that no As has made has all rights and writes no audit: it is that of the service itself.
//
// The error is ErrInvalid for a principal without a name or with an unknown role. It is ErrForbidden for a client that As has made: nobody acts
// for somebody else. It wraps errors.ErrUnsupported for a store without provider.Keeper, which has no audit.
func (c *Client) As(p Principal) (*Client, error) {
	const op = "making the client of a principal"
	if err := c.ofService(op); err != nil {
		return nil, err
	}
	if err := access.Name("principal name", p.Name); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if int(p.Role) >= len(roleNames) {
		return nil, fmt.Errorf("%s: %w: role %d: give RoleViewer, RoleOperator or RoleAdmin", op, ErrInvalid, p.Role)
	}
	if _, ok := provider.As[provider.Keeper](c.store.Provider); !ok {
		return nil, fmt.Errorf("%s: the audit is kept in records: %w", op, provider.Lacking("record", "Keeper"))
	}
	as := c.withPrincipal(&access.Principal{
		Name: p.Name, Role: p.Role.String(), Needs: func(act string) (string, bool) { return acts[Act(act)].String(), p.May(Act(act)) },
	})
	as.principal = &p
	return as, nil
}

// withPrincipal returns a client on the same store that makes its calls for a principal.
func (c *Client) withPrincipal(p *access.Principal) *Client {
	caller, other := *c.caller, *c
	caller.Principal = p
	other.caller, other.accessible = &caller, access.HandleOf(&caller)
	other.serve(&caller)
	return &other
}

// ofService refuses what only the service itself may do.
func (c *Client) ofService(op string) error {
	if c == nil || c.caller == nil {
		return fmt.Errorf("%s: %w: %w", op, ErrInvalid, errNoClient)
	}
	return c.caller.OfService(op)
}

// Principal returns the principal of a client that As has made. ok is false for any other client.
func (c *Client) Principal() (p Principal, ok bool) {
	if c == nil || c.principal == nil {
		return p, false
	}
	return *c.principal, true
}
