package config

// Nearest is the name that differs from word by at most two letters, and by less
// than half of it; "" where there is none.
func Nearest(word string, names []string) string {
	best, found := "", 3
	for _, name := range names {
		if d := distance(word, name); d < found && 2*d < len(name) {
			best, found = name, d
		}
	}
	return best
}

// distance counts the letters to insert, delete or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
