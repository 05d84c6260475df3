// Package migrations holds every table of the ledger and brings a database to head.
package migrations

import "embed"

// Files are the migrations, forward only and never edited after a release.
//
//go:embed *.sql
var Files embed.FS
