// Package pgtest gives tests real PostgreSQL: a fresh database for each test on a
// server that the test process shares, or a server of a test's own.
//
// Servers are private. They listen on a Unix socket in a folder under /tmp, trust
// everybody who can reach it, and end with the test process, however it ends. Each
// has its own initdb, because two servers with one system identifier would be taken
// for copies of each other. fsync is off; everything else is a plain server.
//
// A ledger's database is migrated once for each server and cloned for each test.
// HEYAIRA_TEST_KEEP=1 leaves servers and databases running and says where.
package pgtest
