// Package postgrestest gives tests a Postgres server.
//
// [URL] is a server that all tests of a process share; each works in a schema of its own ([Schema]). The server is the
// one that PERDURE_TEST_POSTGRES_URL names. Otherwise it is a throw-away cluster made with this machine's Postgres
// programs, which listens on loopback only. PERDURE_TEST_POSTGRES_PROGRAMS names the folder of another version's programs.
//
// Without these programs the package installs them where it may: on Debian as root, with CI=true or
// PERDURE_TEST_INSTALL=1. Otherwise the test is skipped, or fails with CI=true, and reports what is missing.
//
// PgBouncer, which [Cluster.Pooler] runs, is found, installed or missing in the same way.
//
// A test that stops, restarts or kills its server makes a [Cluster] of its own. It may have standbys, and a [Proxy] before it
// whose connections the test cuts.
//
// Packages that use it pass [Stop] to leaktest.Main, which removes the shared cluster.
package postgrestest
