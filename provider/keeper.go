package provider

import "context"

// Keeper is implemented by providers that keep small things for all nodes together: named leases and versioned records.
type Keeper interface {
	// Lease acquires, renews or releases a named lease. Acquiring a lease that another token holds unexpired
	// returns [ErrLeaseLost] with the holder in the result. A token can release its expired lease until another token
	// acquires it. Releasing a lease that the token does not hold returns ErrLeaseLost.
	Lease(ctx context.Context, req LeaseRequest) (LeaseResult, error)

	// Record reads, writes, deletes or scans versioned records. A write or delete names the version that it expects,
	// 0 if the record must not exist. A mismatch returns [ErrConflict]. A Get of a record that does not exist returns
	// [ErrNotFound].
	Record(ctx context.Context, req RecordRequest) (RecordResult, error)
}
