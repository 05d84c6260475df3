// Package migrations holds every table of the ledger and brings a database to head.
//
// Migrations go forward only and are never edited after a release; a test pins the
// digest of each. They run on one connection in one transaction that holds an
// advisory lock for as long as it lasts, so two programs that migrate at once, also
// through a transaction pooler, take turns. The transaction also writes the ledger's
// identity and the settings that its database needs.
//
// The package never moves a ledger from one identity to another: a database that was
// restored, cloned or moved is refused.
package migrations
