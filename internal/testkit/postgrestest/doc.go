// Package postgrestest gives tests a Postgres server.
//
// [URL] is a server that all tests of a process share; each works in a schema of its own
// ([Schema]). It is the one that PERDURE_TEST_POSTGRES_URL names, else a throw-away
// cluster made with the Postgres programs of this machine, listening on loopback only. With none of these it
// installs the programs where it may (Debian as root, with CI=true or
// PERDURE_TEST_INSTALL=1); else the test is skipped, or fails with CI=true, and says what is missing.
//
// A test that stops, restarts or kills its server makes a [Cluster] of its own.
//
// Packages that use it pass [Stop] to leaktest.Main, which removes the shared cluster.
package postgrestest
