package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heyaira/heyaira-loop/ledger"
)

// UnknownError says that this host's configuration has no such work type or scope.
// It is an error of usage.
type UnknownError struct {
	What  string   // "work type" or "scope"
	Name  string   // as it was asked for
	Known []string // what there is, sorted
}

// Error names what is unknown.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("find %s %q: not in this host's configuration", e.What, e.Name)
}

// Hint names some of what there is.
func (e *UnknownError) Hint() string {
	const most = 10
	switch known := len(e.Known); {
	case known == 0:
		return fmt.Sprintf("the configuration has no %s", e.What)
	case known <= most:
		return "there is " + strings.Join(e.Known, ", ")
	default:
		return fmt.Sprintf("there is %s and %d more", strings.Join(e.Known[:most], ", "), known-most)
	}
}

// pair is one scope of the configuration with its consumer.
type pair struct {
	consumer Consumer
	scope    ledger.Scope
}

func (p pair) key() [2]string { return [2]string{p.scope.WorkType, p.scope.Key} }

// roster lists every scope of the consumers.
func roster(consumers []Consumer) []pair {
	var pairs []pair
	for _, consumer := range consumers {
		for _, scope := range consumer.Scopes() {
			scope.WorkType = consumer.WorkType()
			pairs = append(pairs, pair{consumer, scope})
		}
	}
	return pairs
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
			return nil, &UnknownError{"work type", workType, distinct(names)}
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
		return nil, &UnknownError{"scope", scope, distinct(names)}
	}
	return chosen, nil
}

func distinct(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
