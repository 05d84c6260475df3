package backup

// verdict is what a comparison of two markers says.
type verdict struct {
	word   word
	reason string // what differs, for people
}

type word int

const (
	changed word = iota
	unchanged
	// unsure: other transactions were seen than before, and no counter moved. Counts
	// can come late; work that was rolled back, or done in another database, looks
	// the same.
	unsure
)

// compare judges m, read now, against the marker that a cover holds. Two markers
// with the same snapshot text in one incarnation of one server show the same
// transactions, so a dump of one equals a dump of the other, but for sequences: they
// move outside transactions.
func (m Marker) compare(covered Marker) verdict {
	switch {
	case m.V != covered.V:
		return verdict{changed, "another version of the marker"}
	case m.ID != covered.ID:
		return verdict{changed, "another server, database, timeline or version"}
	case m.Inc != covered.Inc:
		return verdict{changed, "server was restarted or its counters reset"}
	case m.Plan != covered.Plan:
		return verdict{changed, "store or recipients changed"}
	case m.Seq != "" && m.Seq != covered.Seq:
		return verdict{changed, "sequences moved"}
	case m.Seq != "" && m.Snap == covered.Snap && m.Replay == covered.Replay:
		return verdict{unchanged, ""}
	case m.standby() && (m.Snap != covered.Snap || m.Replay != covered.Replay):
		return verdict{changed, "transactions were replayed"}
	case m.Cnt != covered.Cnt:
		return verdict{changed, "rows changed"}
	case m.Glob != covered.Glob:
		return verdict{changed, "roles or other shared objects changed"}
	case m.Seq == "":
		return verdict{unsure, "sequences are locked"}
	}
	return verdict{unsure, "transactions without counted changes"}
}
