package proc

import "regexp"

// hidden stands where a secret stood.
const hidden = "***"

// secretWords end or begin the names of what nobody may read.
const secretWords = `(?:password|passwd|passphrase|secret|token|credential|signature|api[_-]?key|access[_-]?key|private[_-]?key)`

var secretName = regexp.MustCompile(`(?i)` + secretWords)

// rules are applied in order. They rather hide too much than too little.
var rules = []struct {
	pattern *regexp.Regexp
	with    string
}{
	// Keys of age, its plugins, and whatever stands in PEM.
	{regexp.MustCompile(`(?i)AGE-(?:SECRET-KEY|PLUGIN)-[a-z0-9+._-]+`), hidden},
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`), hidden},
	// The user part of a URL: up to the last @ where there is a password, which may
	// hold what it should have escaped.
	{regexp.MustCompile(`(://)[^\s"'@:/?#]*:[^\s"']*@`), "${1}" + hidden + "@"},
	{regexp.MustCompile(`(://)[^\s"'/?#]*@`), "${1}" + hidden + "@"},
	// Headers.
	{regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(["']?\s*[:=]\s*)[^\r\n]*`), "${1}${2}" + hidden},
	{regexp.MustCompile(`(?i)\b(bearer\s+)[^\s"',;]+`), "${1}" + hidden},
	// name=value and name: value, the value bare or quoted as conninfo, JSON and SQL do.
	{regexp.MustCompile(`(?i)(` + secretWords + `[a-z0-9_.-]*["']?\s*[=:]\s*)(?:'(?:[^'\\\n]|\\.|'')*'?|"(?:[^"\\\n]|\\.)*"?|(?:\\.|[^\s'"\\])(?:\\.|[^\s\\])*)`), "${1}" + hidden},
	// SQL: PASSWORD 'x', and the verifiers that the server keeps.
	{regexp.MustCompile(`(?i)(` + secretWords + `\s+)E?'(?:[^'\\\n]|\\.|'')*'?`), "${1}" + hidden},
	{regexp.MustCompile(`SCRAM-SHA-256\$[^\s'"]+|\bmd5[0-9a-f]{32}\b`), hidden},
	// The server quotes rows in the lines that follow an error.
	{regexp.MustCompile(`(DETAIL:[ \t]+)[^\n]+`), "${1}" + hidden},
	{regexp.MustCompile(`(CONTEXT:[ \t]+COPY [^\n]*?, line \d+)[^\n]*`), "${1}"},
}

// Scrub hides what looks like a secret in text that a program wrote: passwords in
// conninfos and URLs, keys, tokens, headers, and rows of a table that the server
// quotes. It knows forms, not values; it is the last net, not the first.
func Scrub(text string) string {
	for _, rule := range rules {
		text = rule.pattern.ReplaceAllString(text, rule.with)
	}
	return text
}
