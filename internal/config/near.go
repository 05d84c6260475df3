package config

// Nearest is the name that was probably meant by word: it differs by at most two
// letters, and by less than half of it; "" where there is none.
func Nearest(word string, names []string) string {
	best, found := "", 3
	for _, name := range names {
		if d := distance(word, name); d < found && 2*d < len(name) {
			best, found = name, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with the next one.
func distance(a, b string) int {
	before := make([]int, len(b)+1) // the row above last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
