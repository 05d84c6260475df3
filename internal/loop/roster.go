package loop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heyaira/heyaira-loop/ledger"
)

// UnknownError says that this host's configuration has no such work type or scope.
// It is an error of usage.
type UnknownError struct {
	What string   // "work type" or "scope"
	Name string   // as it was asked for
	Near []string // names that were perhaps meant, nearest first
}

// Error names what is unknown.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("find %s %q: not in this host's configuration", e.What, e.Name)
}

// Hint says what was perhaps meant.
func (e *UnknownError) Hint() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("the configuration has no %s at all", e.What)
	}
	return "did you mean " + strings.Join(e.Near, " or ") + "?"
}

// pair is one scope of the configuration with its consumer.
type pair struct {
	consumer Consumer
	scope    ledger.Scope
}

func (p pair) key() [2]string { return [2]string{p.scope.WorkType, p.scope.Key} }

// roster lists every scope of the consumers, those that go first before the others.
func roster(consumers []Consumer) []pair {
	ordered := slices.Clone(consumers)
	slices.SortStableFunc(ordered, func(a, b Consumer) int {
		return cmp.Compare(rank(a), rank(b))
	})
	var pairs []pair
	for _, consumer := range ordered {
		for _, scope := range consumer.Scopes() {
			scope.WorkType = consumer.WorkType()
			pairs = append(pairs, pair{consumer, scope})
		}
	}
	return pairs
}

func rank(consumer Consumer) int {
	if consumer.Policy().First {
		return 0
	}
	return 1
}

// pick narrows the roster to a work type and a scope; "" is all of them.
func pick(consumers []Consumer, workType, scope string) ([]pair, error) {
	if workType != "" {
		narrowed := slices.DeleteFunc(slices.Clone(consumers), func(c Consumer) bool { return c.WorkType() != workType })
		if len(narrowed) == 0 {
			var names []string
			for _, consumer := range consumers {
				names = append(names, consumer.WorkType())
			}
			return nil, &UnknownError{"work type", workType, near(workType, names)}
		}
		consumers = narrowed
	}
	pairs := roster(consumers)
	if scope == "" {
		return pairs, nil
	}
	chosen := slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return p.scope.Key != scope })
	if len(chosen) == 0 {
		var names []string
		for _, p := range pairs {
			names = append(names, p.scope.Key)
		}
		return nil, &UnknownError{"scope", scope, near(scope, names)}
	}
	return chosen, nil
}

// near answers at most three of names, those that are nearest to what was typed.
func near(typed string, names []string) []string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(distance(typed, a), distance(typed, b))
	})
	return names[:min(3, len(names))]
}

// distance is how many bytes must be changed, added or removed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
