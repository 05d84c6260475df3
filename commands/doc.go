// Package commands is the command line: one file for each subcommand, which parses,
// calls one function of another package, and prints.
//
// What holds for all of them stands in files of its own: the app and its strictness
// (app.go), what a command may ask of its surroundings (env.go), the common flags
// (flags.go), the exit statuses (exit.go), what is printed and when nothing is
// (output.go, tell.go), and the list of consumers (consumers.go). The behaviour of
// every subcommand is specified by ../testdata/script.
//
// Standard output carries results only. Errors, hints, logs and the progress bar go to
// standard error.
package commands
