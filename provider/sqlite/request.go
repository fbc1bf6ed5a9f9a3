package sqlite

import "github.com/perdure/perdure/provider"

const (
	sqlAddRequest = `INSERT INTO perdure_request (key, number, request_id)
		SELECT ?1, coalesce(max(number), 0) + 1, ?2 FROM perdure_request WHERE key = ?1 ON CONFLICT DO NOTHING`
	sqlDropOldRequests = `DELETE FROM perdure_request WHERE key = ?1
		AND number <= (SELECT max(number) FROM perdure_request WHERE key = ?1) - ?2`
)

// AddRequest implements [relational.Rows].
func (t *inboxRows) AddRequest(key provider.UUID, request string) (fresh bool, err error) {
	n, err := t.exec(sqlAddRequest, key, request)
	if err != nil || n == 0 {
		return false, err
	}
	return true, t.do(sqlDropOldRequests, key, provider.MaxRequests)
}
