package postgres

import (
	"bytes"
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// acquired returns a connection of a store.
func acquired(t *testing.T, p *Provider) *pgxpool.Conn {
	t.Helper()
	conn, err := p.db.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Release)
	return conn
}

// Parameters and rows are encoded and decoded as the driver would.
func TestExchangeSpeaksAsTheDriver(t *testing.T) {
	p := store(t)
	conn := acquired(t, p).Conn()
	some := unique()
	type row struct {
		key      provider.UUID
		long     int64
		at       provider.Time
		short    provider.Status
		text     string
		maybe    *string
		data     []byte
		yes      bool
		keys     []pgtype.UUID
		longs    []int64
		shorts   []int16
		texts    []string
		flags    []bool
		blobs    [][]byte
		ids      []pgtype.Uint32
		duration time.Duration
	}
	const sql = `SELECT $1::uuid, $2::bigint, $3::bigint, $4::smallint, $5::text, $6::text, $7::bytea, $8::boolean, $9::uuid[], $10::bigint[],
		$11::smallint[], $12::text[], $13::boolean[], $14::bytea[], $15::xid[], $16::int::bigint`
	read := func(send func(*pgx.Batch) error, args []any) (got row) {
		b := &pgx.Batch{}
		b.Queue(`SELECT 1`)
		b.Queue(sql, args...).QueryRow(func(r pgx.Row) error {
			return r.Scan(into(&got.key), &got.long, &got.at, &got.short, &got.text, &got.maybe, &got.data, &got.yes, &got.keys, &got.longs,
				&got.shorts, &got.texts, &got.flags, &got.blobs, &got.ids, &got.duration)
		})
		if err := send(b); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return got
	}
	word := "word"
	for _, args := range [][]any{
		{
			uuid(some), int64(-3), provider.Time(1 << 50), int16(7), "é", &word,
			[]byte{0, 1},
			true,
			[]pgtype.UUID{uuid(some), {}},
			[]int64{1, -1 << 60},
			[]int16{-1, 300},
			[]string{"", "a\"b"},
			[]bool{true, false},
			[][]byte{nil, {}, {9}},
			[]pgtype.Uint32{{Uint32: 1<<32 - 1, Valid: true}},
			70_000,
		},
		{
			pgtype.UUID{},
			5, int64(0), 6, "", nil,
			[]byte{},
			false,
			[]pgtype.UUID{},
			[]int64{},
			[]int16{},
			[]string{},
			[]bool{},
			[][]byte{},
			[]pgtype.Uint32{},
			-1,
		},
		{
			nil, int64(0), int64(0), int16(0), "", nil, []byte(nil), false, []pgtype.UUID(nil), nil, []int16(nil), []string(nil), nil, [][]byte(nil), nil,
			int64(1),
		},
	} {
		got := read(func(b *pgx.Batch) error { return p.db.exchange(t.Context(), conn, b) }, args)
		want := read(func(b *pgx.Batch) error { return conn.SendBatch(t.Context(), b).Close() }, args)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v is read as\n%+v, by the driver as\n%+v", args, got, want)
		}
	}
}

// Values that do not fit are refused and not cut off.
func TestExchangeRefusesWhatDoesNotFit(t *testing.T) {
	p := store(t)
	conn := acquired(t, p).Conn()
	b := &pgx.Batch{}
	b.Queue(`SELECT $1::smallint`, int64(1<<16))
	if err := p.db.exchange(t.Context(), conn, b); err == nil {
		t.Error("a number that is too large was sent")
	}
	b = &pgx.Batch{}
	var status provider.Status
	b.Queue(`SELECT 257::smallint`).QueryRow(func(r pgx.Row) error { return r.Scan(&status) })
	if err := p.db.exchange(t.Context(), conn, b); err == nil {
		t.Errorf("a number that is too large was read as %d", status)
	}
}

// An error of a statement ends its batch without further results, but not the connection.
func TestExchangeEndsAtTheFirstError(t *testing.T) {
	p := store(t)
	conn := acquired(t, p).Conn()
	b, read := &pgx.Batch{}, 0
	count := func(r pgx.Row) error {
		var n int64
		err := r.Scan(&n)
		if err == nil {
			read++
		}
		return err
	}
	b.Queue(`SELECT generate_series(1, 9)::bigint`).QueryRow(count) // only the first row is read
	b.Queue(`SELECT 1 / ($1::bigint)`, int64(0)).QueryRow(count)
	b.Queue(`SELECT 1::bigint`).QueryRow(count)
	if err := p.db.exchange(t.Context(), conn, b); sqlState(err) != stateDivision || read != 1 {
		t.Errorf("%d rows were read, and then: %v", read, err)
	}
	b = &pgx.Batch{}
	b.Queue(`SELECT 1::bigint`).QueryRow(count)
	if err := p.db.exchange(t.Context(), conn, b); err != nil || read != 2 {
		t.Errorf("after that: %v, %d rows", err, read)
	}
}

// A caller that gives up does not wait for the result, and does not know the outcome. The connection is not used again.
func TestExchangeEndsWithItsContext(t *testing.T) {
	p := store(t)
	conn := acquired(t, p).Conn()
	pid := conn.PgConn().PID()
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	gone := make(chan error, 1)
	go func() {
		b := &pgx.Batch{}
		b.Queue(`SELECT pg_sleep(60) IS NULL`)
		gone <- p.db.exchange(ctx, conn, b)
	}()
	within(t, p, `SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND pid = `+strconv.FormatUint(uint64(pid), 10))
	giveUp()
	select {
	case err := <-gone:
		if outcomeOf(err) != provider.OutcomeUnknown || pgconn.SafeToRetry(err) || !conn.IsClosed() {
			t.Errorf("outcome %v of %v; closed: %v", outcomeOf(err), err, conn.IsClosed())
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the caller waits on")
	}
}

// A panic while rows are read leaves no unread results to others.
func TestExchangeOutlivesPanics(t *testing.T) {
	p := store(t)
	conn := acquired(t, p).Conn()
	var n int64
	read := func(sql string, fn func(pgx.Row) error) error {
		b := &pgx.Batch{}
		b.Queue(sql).QueryRow(fn)
		b.Queue(`SELECT 2::bigint`)
		return p.db.exchange(t.Context(), conn, b)
	}
	three := func() error { return read(`SELECT 3::bigint`, func(r pgx.Row) error { return r.Scan(&n) }) }
	if err := three(); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = read(`SELECT 1::bigint`, func(pgx.Row) error { panic("unexpected") })
		t.Error("there was no panic")
	}()
	if !conn.IsClosed() {
		err := three()
		t.Errorf("the next one on the connection reads %d, %v", n, err)
	}
}

// A statement has the same name on each connection. An undeclared pooler may lend another server connection: that has
// this statement or none, but no other one of that name.
func TestStatementsAreNamedByWhatTheyAre(t *testing.T) {
	p := store(t)
	named := func(statements ...string) map[string]string {
		conn := acquired(t, p).Conn()
		if err := outgoingOn(conn).prepare(t.Context(), statements...); err != nil {
			t.Fatal(err)
		}
		rows, err := conn.Query(t.Context(), `SELECT statement, name FROM pg_prepared_statements WHERE statement = ANY($1)`, statements)
		if err != nil {
			t.Fatal(err)
		}
		names := make(map[string]string)
		var text, name string
		if _, err := pgx.ForEachRow(rows, []any{&text, &name}, func() error { names[text] = name; return nil }); err != nil {
			t.Fatal(err)
		}
		return names
	}
	const one, two = `SELECT 'one', $1::bigint`, `SELECT 'two', $1::bigint`
	if a, b := named(one, two), named(two, one); !maps.Equal(a, b) || len(a) != 2 || a[one] == a[two] {
		t.Errorf("on one connection %v, on another one %v", a, b)
	}
}

// A batch larger than a server accepts unread is sent by the driver.
func TestExchangeSendsLargeBatches(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	conn := acquired(t, p).Conn()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	data := bytes.Repeat([]byte("x"), 8<<20)
	b, got := &pgx.Batch{}, 0
	for range 4 {
		b.Queue(`SELECT $1::bytea`, data).QueryRow(func(r pgx.Row) error {
			var back []byte
			err := r.Scan(&back)
			got += len(back)
			return err
		})
	}
	if err := p.db.exchange(ctx, conn, b); err != nil || got != 4*len(data) {
		t.Fatalf("%d bytes came back: %v", got, err)
	}
	if kept := cap(outgoingOn(conn).bytes); kept > 2*maxOutgoing {
		t.Errorf("%d bytes are kept", kept)
	}
}

// Connections whose prepared statements were removed are closed.
func TestExchangeOutlivesItsStatements(t *testing.T) {
	p := store(t)
	in := create(t, p, "i")
	for _, conn := range p.db.pool.AcquireAllIdle(t.Context()) {
		if _, err := conn.Exec(t.Context(), `DEALLOCATE ALL`, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		conn.Release()
	}
	for range p.db.pool.Config().MaxConns + 1 {
		if _, err := p.Get(t.Context(), provider.GetRequest{Key: in.Key}); err == nil {
			return
		}
	}
	t.Error("the instance cannot be read any more")
}

// Connections are closed if a statement returns other columns than when it was prepared.
func TestExchangeOutlivesChangedTables(t *testing.T) {
	p := store(t)
	conn := acquired(t, p).Conn()
	read := func() error {
		b := &pgx.Batch{}
		b.Queue(`SELECT * FROM changing`)
		return p.db.exchange(t.Context(), conn, b)
	}
	alter := func(sql string) {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	alter(`CREATE TEMPORARY TABLE changing (one int)`)
	if err := read(); err != nil {
		t.Fatal(err)
	}
	alter(`ALTER TABLE changing ADD two int`)
	if err := read(); sqlState(err) != stateOldPlan || !conn.IsClosed() {
		t.Errorf("%v; closed: %v", err, conn.IsClosed())
	}
}

// All statements that a connection does not know are prepared in one round trip, even after one that the server
// refused.
func TestExchangePreparesInOneRoundTrip(t *testing.T) {
	p, w := counting(t)
	conn, err := p.db.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	var got []int64
	batch := func(statements ...string) (trips int64, err error) {
		b := &pgx.Batch{}
		for _, sql := range statements {
			b.Queue(sql, int64(1)).QueryRow(func(r pgx.Row) error {
				var n int64
				err := r.Scan(&n)
				got = append(got, n)
				return err
			})
		}
		before := w.trips.Load()
		err = p.db.exchange(t.Context(), conn.Conn(), b)
		return w.trips.Load() - before, err
	}
	const one, two, three, refused = `SELECT $1::bigint`, `SELECT $1::bigint + 1`, `SELECT $1::bigint + 2`, `SELECT $1::bigint FROM nowhere`
	if _, err := batch(one, refused, two); sqlState(err) != "42P01" {
		t.Fatalf("a table that is not there: %v", err)
	}
	if trips, err := batch(one, two, three, two); err != nil || trips != 2 {
		t.Errorf("new statements: %d round trips, want 2; %v", trips, err)
	}
	if trips, err := batch(three, one); err != nil || trips != 1 {
		t.Errorf("known statements: %d round trips, want 1; %v", trips, err)
	}
	if want := []int64{1, 2, 3, 2, 3, 1}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}
