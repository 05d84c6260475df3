package backup

import "testing"

func TestComparisonOfMarkers(t *testing.T) {
	t.Parallel()
	primary := Marker{V: "pgm1", ID: "7/16384/00000001/15", Inc: "1/1/-", Snap: "740:740:", Seq: "1:0:aa", Cnt: "5/1/0", Glob: "2,0", Plan: "p"}
	standby := primary
	standby.ID, standby.Replay = "7/16384/standby/15", "100"
	for _, c := range []struct {
		name    string
		covered Marker
		change  func(m *Marker)
		want    word
	}{
		{"nothing", primary, func(*Marker) {}, unchanged},
		{"version", primary, func(m *Marker) { m.V = "pgm2" }, changed},
		{"identity", primary, func(m *Marker) { m.ID = "7/16384/00000002/15" }, changed},
		{"incarnation", primary, func(m *Marker) { m.Inc = "2/1/-" }, changed},
		{"plan", primary, func(m *Marker) { m.Plan = "q" }, changed},
		{"sequences", primary, func(m *Marker) { m.Seq = "1:0:bb" }, changed},
		// Counts of work that the cover holds may come late: the snapshot is the proof.
		{"counters under the same snapshot", primary, func(m *Marker) { m.Cnt = "6/1/0" }, unchanged},
		{"snapshot", primary, func(m *Marker) { m.Snap = "741:741:" }, unsure},
		{"running transactions", primary, func(m *Marker) { m.Snap = "739:740:739" }, unsure},
		{"snapshot and counters", primary, func(m *Marker) { m.Snap, m.Cnt = "741:741:", "6/1/0" }, changed},
		{"snapshot and fewer rows", primary, func(m *Marker) { m.Snap, m.Cnt = "741:741:", "4/1/0" }, changed},
		{"snapshot and shared catalogs", primary, func(m *Marker) { m.Snap, m.Glob = "741:741:", "3,0" }, changed},
		{"sequences unread", primary, func(m *Marker) { m.Seq = "" }, unsure},
		{"sequences unread, rows", primary, func(m *Marker) { m.Seq, m.Snap, m.Cnt = "", "741:741:", "6/1/0" }, changed},
		{"standby, nothing", standby, func(*Marker) {}, unchanged},
		{"standby, snapshot", standby, func(m *Marker) { m.Snap = "741:741:" }, changed},
		{"standby, replay under the same snapshot", standby, func(m *Marker) { m.Replay = "101" }, changed},
		{"standby, sequences unread", standby, func(m *Marker) { m.Seq = "" }, unsure},
		{"promotion", standby, func(m *Marker) { m.ID, m.Replay = primary.ID, "" }, changed},
	} {
		now := c.covered
		c.change(&now)
		got := now.compare(c.covered)
		if got.word != c.want || (got.word != unchanged) != (got.reason != "") {
			t.Errorf("%s: got %+v, want word %d with a reason unless unchanged", c.name, got, c.want)
		}
	}
	unread := primary
	unread.Seq = ""
	if got := primary.compare(unread); got.word != changed {
		t.Errorf("a cover that claims no sequences: got %+v, want changed", got)
	}
}

func TestMarkerTextIsCanonicalAndReadBack(t *testing.T) {
	t.Parallel()
	m := Marker{V: "pgm1", ID: "7/1/2/15", Inc: "i", Snap: "1:2:1", Seq: "s", Cnt: "c", Glob: "g", Plan: "p"}
	const want = `{"cnt":"c","glob":"g","id":"7/1/2/15","inc":"i","plan":"p","replay":"","seq":"s","snap":"1:2:1","v":"pgm1"}`
	if got := m.Text(); got != want {
		t.Errorf("Text() = %s, want %s", got, want)
	}
	if got, err := ParseMarker(want); err != nil || got != m {
		t.Errorf("ParseMarker = %+v, %v, want %+v", got, err, m)
	}
	for _, text := range []string{"", "null", "{}", `{"v":"pgm1"}`, `{"v":1}`, "marker"} {
		if _, err := ParseMarker(text); err == nil {
			t.Errorf("ParseMarker(%q) = nil, want an error", text)
		}
	}
}
