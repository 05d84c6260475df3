// Package config reads the one YAML file that says what a host protects.
//
// The file is trusted: it decides which server is read and where its data goes. So
// it is never looked for in the working directory, and one that somebody else could
// have written is refused ([Load]). It holds no secret; secrets are named by an
// environment variable, a file, or a libpq service ([Source]).
//
// It is read strictly: an unknown or doubled key, a value of another type, an
// anchor, a second document and a name that leads nowhere are refused, each with
// file, line, column and the keys that lead there ([Error]). No refusal repeats a
// value that could be a secret in the wrong place.
package config
