package canon_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heyaira/heyaira-loop/internal/canon"
)

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}

// canonical is Canonicalize of a text that has to be accepted.
func canonical(t *testing.T, raw string) string {
	t.Helper()
	out, err := canon.Canonicalize([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return string(out)
}

// The ten vectors that the form was published with (cross-runtime-vectors.json).
func TestPublishedVectors(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ name, raw, canonical, sum string }{
		{"phase1-golden", `{"z":100,"m":{"b":true,"a":null},"a":"dreamnet-spore"}`, `{"a":"dreamnet-spore","m":{"a":null,"b":true},"z":100}`, "6b560a8869530ac60f9d3795e55d04240d237010140502f8f7a768d190de013a"},
		{"simple-sort", `{"b":2,"a":1}`, `{"a":1,"b":2}`, "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777"},
		{"nested-sort-arrays", `{"z":[3,2,1],"a":{"y":"test","x":true}}`, `{"a":{"x":true,"y":"test"},"z":[3,2,1]}`, "462eef214fd615c2687f8959ab7ede89c62cf4f2f3dcd5cb01097015737f9938"},
		{"undefined-omission", `{"list":[1,null,3],"active":true}`, `{"active":true,"list":[1,null,3]}`, "fde122458e9787b46712d0467d5ccc732f8bf6b0ada34f7648b9daa7d41ab388"},
		{"integer-like-keys", `{"2":4,"10":3,"a":2,"B":1,"_z":5}`, `{"10":3,"2":4,"B":1,"_z":5,"a":2}`, "e9e4735773c21ac5ecfa6ab3bd29a28038e24c68980c0e4cd693a4995f60dc2e"},
		{"unicode-escapes", `{"k\u00e4y":"v\u00e4l\"ue\n\t","emoji":"x"}`, `{"emoji":"x","käy":"väl\"ue\n\t"}`, "e93527685df386164c9b22b222e3171ffb87477b4032e3ccc0e43d93795c5568"},
		{"numbers", `{"a":-0,"b":1.50,"c":1e21,"d":-3,"e":0.1,"f":9007199254740991}`, `{"a":0,"b":1.5,"c":1e+21,"d":-3,"e":0.1,"f":9007199254740991}`, "5117f8234bfe2e31547c760aff094776b493a2d5f2064436ccc49bcecc5317ff"},
		{"null-empty", `{"d":[],"c":{},"b":[null,null],"a":null}`, `{"a":null,"b":[null,null],"c":{},"d":[]}`, "1097c7baae8b823288b1d0d077f6bae8dcde93c6742609b5299f7f8d55dba74e"},
		{"deep-nesting", `{"d":{"c":{"b":{"a":[{"z":1,"y":2}]}}}}`, `{"d":{"c":{"b":{"a":[{"y":2,"z":1}]}}}}`, "72deae4a60a155f3e5f94fd802262b87f785b9d74895e2bcec867146dc33d78a"},
		{"top-level-array", `[{"b":1,"a":2},3]`, `[{"a":2,"b":1},3]`, "a364f9c3f3fe507574d20ea35c619cdf05815968d51aa534641810fcd62f0d79"},
	} {
		out := canonical(t, v.raw)
		if out != v.canonical {
			t.Errorf("%s: got %s, want %s", v.name, out, v.canonical)
		}
		if got := sum([]byte(out)); got != v.sum {
			t.Errorf("%s: sum %s, want %s", v.name, got, v.sum)
		}
		if got, want := canon.DigestBytes([]byte(out)), canon.Tag+v.sum; got != want {
			t.Errorf("%s: digest %s, want %s", v.name, got, want)
		}
	}
}

// What the source systems build out of the form: hashes of hashes.
func TestCompositeVectors(t *testing.T) {
	t.Parallel()
	digest := func(v any) string {
		t.Helper()
		d, err := canon.Digest(v)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	bare := func(v any) string { return strings.TrimPrefix(digest(v), canon.Tag) }
	type object = map[string]any
	want := func(name, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	merged := object{"kind": "repo.pr", "payload": object{"state": "merged", "title": "chunk the audit send"}, "subjectKey": "github:bettercallzaal/ZAOOS#2703"}
	want("subject", bare(merged), "0cb09a809d83c2ae289fe086e71eb50fc39d0604e8e8e15c4287951e86fb2c68")
	want("receipt", bare(object{"contentHash": digest(merged), "issuer": "organism:zao:zoe", "kind": "repo.pr", "subjectKey": "github:bettercallzaal/ZAOOS#2703"}),
		"a799aff0848b588e8e0844bd6efda230f59c237c302cc43225b24d635a282441")
	price := object{"kind": "market.price", "payload": object{"currency": "USD", "price": 118250.5}, "subjectKey": "asset:BTC-USD"}
	want("price", bare(price), "ed6b4bc66e9395fbe7204e568d708bf102cce167c9a5e62bbb560559264cf08e")
	want("interop", bare(object{"issuer": "organism:dreamnet:reference", "subjectHash": bare(price)}),
		"97e07016284eb155d7f3a5bf82f0da55b5d4a19f70f47d72f37e2e297b30a7b5")
	want("evidence", bare(object{"a": "dreamnet-spore", "m": object{"a": nil, "b": true}, "task": "phase3-cross-runtime-verification", "z": 100}),
		"969ddea2fd401f463ae69e0267ec0c618fce485fb6527361d70bcdb5d8438e24")

	const run = "00000000-0000-4000-8000-000000000001"
	receipt := func(event string, expires, effect any) object {
		return object{"event": event, "runId": run, "owner": "worker-A", "leaseExpiresAt": expires, "effectKey": effect}
	}
	const expires = "2026-07-30T00:01:00.000Z"
	want("acquired", digest(receipt("acquired", expires, nil)), canon.Tag+"b200a85a1c659d4fa561ec6d137840ea846ea42c2b357849d40e2a274eac7387")
	want("released", digest(receipt("released", nil, nil)), canon.Tag+"bdd8db9a8779f4a82b7d2eac48d06f05022a4885c08777fdf4788f59b129cafa")
	want("reclaimed", digest(receipt("reclaimed", nil, nil)), canon.Tag+"bd087d40a084ec18cbbebceb955b115fa66a322002d2e800dd14a0a22f3eeea1")
	want("effect_committed", digest(receipt("effect_committed", expires, "spend:invoice:42")), canon.Tag+"142134d74d362ac2f1786acafff1ce9c4709c007ff54eed8d05386983a234447")
}

func TestResourceIDs(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ kind, key, sum string }{
		{"zoe.heart.canary", "singleton", "feafc855c8ea80bff32ad3d81a37a199ae66bc65d256288bd91683ffd8438bed"},
		{"zoe.work-loop", "singleton", "cbb4db044d35e6084fa72929536cc02e4370e14ef1822d022b391b4ae097757e"},
		{"a", "b", "a53e1a6583253333c01c8d0a8275915db0ef24ebaf25bdaad724f51f3e0d65d9"},
		{"b", "a", "b75f338d74b689f43ed265edee39aa1878fa53666982e3c9009407b55cfe7300"},
		{"heyaira-backup", "main", "41f68ff999efcca4aa575d4c4db2e700fdbc2c0c29ff5b57c4857e4570b1df6b"},
		{"x", "käy \"q\"\n", "ad40453be92c37c95cce8c18bd57f2169f25bcc64ccec674da93728d5f5c3460"},
	} {
		if got, err := canon.ResourceID(v.kind, v.key); err != nil || got != "heart:resource:"+v.sum {
			t.Errorf("%s %s: got %s, %v", v.kind, v.key, got, err)
		}
	}
	for _, v := range [][2]string{{"", "k"}, {"k", ""}, {"k", "\xff"}} {
		if got, err := canon.ResourceID(v[0], v[1]); err == nil {
			t.Errorf("%q has the id %s", v, got)
		}
	}
	got, err := canon.EffectKey("telegram", map[string]any{"chatId": -100123, "text": "hello"})
	if want := "telegram:b1f1d81b3a68a2b2767273fd8f10e549a73fbe5da0516314d8ff601751c66074"; err != nil || got != want {
		t.Errorf("effect key %s, %v, want %s", got, err, want)
	}
	if _, err := canon.EffectKey("p", math.NaN()); err == nil {
		t.Error("NaN has an effect key")
	}
}

func TestEdges(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ raw, canonical, sum string }{
		{` {} `, `{}`, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},
		{"\n[\t]\r", `[]`, "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},
		{`""`, `""`, "12ae32cb1ec02d01eda3581b127c1fee3b0dc53572ed6baf239721a03d82e126"},
		{`null`, `null`, "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"},
		{`-0.0`, `0`, "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"},
		{`1e20`, `100000000000000000000`, ""},
		{`1e21`, `1e+21`, ""},
		{`0.000001`, `0.000001`, ""},
		{`0.0000001`, `1e-7`, ""},
		{`9007199254740993`, `9007199254740992`, ""},
		{`1152921504606846976`, `1152921504606847000`, ""},
		{`5e-324`, `5e-324`, ""},
		{`1e-400`, `0`, ""},
		{`1.7976931348623157e308`, `1.7976931348623157e+308`, ""},
		{`-0.0000000015`, `-1.5e-9`, ""},
		{`333333333.33333329`, `333333333.3333333`, ""},
		{`"\u0000\u0001\u0007\u0008\u0009\u000a\u000B\u000c\u000d\u001f\u007f"`, "\"\\u0000\\u0001\\u0007\\b\\t\\n\\u000b\\f\\r\\u001f\x7f\"", "6f39a34da2bb18a1e6972bf09986d760eb61c800623329c08ff624f78184c3f0"},
		{`"\u003c\u003E\u0026'\/\"\\"`, `"<>&'/\"\\"`, "7b711a84dd47f182e5e1850d0d2a91d0000a45f6987949fa00f5d947fbfa2a1f"},
		{`"\u2028\u2029"`, "\"\u2028\u2029\"", "e3a0e2262ac7790f4df36b522a8fbdd4ee3370d568eb15dc25c5f1775f14ed6c"},
		{`{"\uffff":1,"\ud800\udc00":2,"z":3}`, "{\"z\":3,\"\U00010000\":2,\"\uffff\":1}", "858c5a3f0119b761ffa8b4b8f02b8ab2ebb3c3455669ab0ac7ac3f9ebef23c32"},
		{`{"a":2,"":1}`, `{"":1,"a":2}`, "9cf535828d5dbc2d87d9c4c0b99d9e7308b5fdbd22aac02bac1d60f6ac9aa127"},
		{`{"a":2,"aa":1,"A":3,"B":4,"a b":5,"a-b":6,"a_b":7,"a0":8,"a.b":9}`, `{"A":3,"B":4,"a":2,"a b":5,"a-b":6,"a.b":9,"a0":8,"a_b":7,"aa":1}`, "cf3dadce4fa79d0788cba75c2eff04b51642d42a4a2c00de046e36afa0275adc"},
		{`[[],{},[null,false,0,""]]`, `[[],{},[null,false,0,""]]`, "b7fe62daf5900fb5e21249a94158e931201e8775ae8c9701c91473bca9e1a1b0"},
		{`"\ufffd"`, "\"\ufffd\"", ""},
	} {
		out := canonical(t, v.raw)
		if out != v.canonical {
			t.Errorf("%s: got %s, want %s", v.raw, out, v.canonical)
		}
		if got := sum([]byte(out)); v.sum != "" && got != v.sum {
			t.Errorf("%s: sum %s, want %s", v.raw, got, v.sum)
		}
	}
}

// The data of RFC 8785's reference implementation; sums of its output files.
func TestRFC8785Data(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ name, raw, sum string }{
		{"arrays", `[56, {"d": true, "10": null, "1": [ ]}]`, "099601b171cafed97c333f8878d68e7f8c8f795412adb34b2fdcf0e7c7beac42"},
		{"french", `{"peach": "This sorting order", "péché": "is wrong according to French", "pêche": "but canonicalization MUST", "sin":   "ignore locale"}`, "d99d0ebdcb0033cb858cfa830ae46bc0fb3309413b271f1da828c89901a27ed5"},
		{"structures", `{"1": {"f": {"f": "hi","F": 5} ,"\n": 56.0}, "10": { }, "": "empty", "a": { }, "111": [ {"e": "yes","E": "no" } ], "A": { }}`, "605f65004ec2db7692522a0852c22f1c989e036d547e88963d1a3143cf3195d5"},
		{"unicode", `{"Unnormalized Unicode":"A\u030a"}`, "0d99aad92a125196ff887876643fd3206786a84ddce2cee52ba4ad256d2381d3"},
		{"values", `{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001], "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`, "2d5e01a318d0f0879ab568c4be289c8b1f64ef8921a53c6277d5e069978baacb"},
		{"weird", `{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\u000a": "Newline", "1": "One", "\u0080": "Control\u007f", "\ud83d\ude02": "Smiley", "\u00f6": "Latin Small Letter O With Diaeresis", "\ufb33": "Hebrew Letter Dalet With Dagesh", "</script>": "Browser Challenge"}`, "6af595a9aa80110b964b4de3f82a05fa6ae7423005019bacfa2620dddc4e94d1"},
	} {
		out := canonical(t, v.raw)
		if got := sum([]byte(out)); got != v.sum {
			t.Errorf("%s: sum %s, want %s; text %s", v.name, got, v.sum, out)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, raw := range map[string]string{
		"nothing": "", "white space": " ", "two values": "1 2", "byte order mark": "\ufeff1",
		"lone high surrogate": `"\ud800"`, "lone low surrogate": `"\udc00"`, "reversed pair": `"\ude02\ud83d"`,
		"high and letter": `"\ud800a"`, "high and escape": `"\ud800\n"`, "two highs": `"\ud800\ud800"`,
		"surrogate as bytes": "\"\xed\xa0\x80\"", "invalid utf-8": "\"\xff\"", "overlong": "\"\xc0\x80\"", "invalid key": "{\"\xff\":1}",
		"twice": `{"a":1,"b":2,"a":1}`, "twice by escape": `{"a":1,"\u0061":2}`, "twice nested": `[{"x":{"":0,"":0}}]`,
		"too large": `1e309`, "too small": `-1e309`, "nan": `NaN`, "infinity": `Infinity`, "hex": `0x10`, "plus": `+1`,
		"leading zero": `01`, "no digits": `-`, "point at end": `1.`, "point at start": `.5`, "no exponent": `1e`, "signed nothing": `1e+`, "underscore": `1_0`,
		"open array": `[1`, "open object": `{"a":1`, "trailing comma": `[1,]`, "trailing comma in object": `{"a":1,}`, "no colon": `{"a" 1}`, "bare key": `{a:1}`, "comma alone": `[,]`,
		"control character": "\"a\nb\"", "open string": `"a`, "open escape": `"\`, "unknown escape": `"\x"`, "short escape": `"\u12"`, "no hex": `"\u12g4"`, "signed hex": `"\u+123"`,
		"word": `nulls`, "single quotes": `'a'`, "comment": `1 // one`, "nul": "\x00", "too deep": deep(129),
	} {
		if out, err := canon.Canonicalize([]byte(raw)); err == nil {
			t.Errorf("%s: %q was taken for %s", name, raw, out)
		}
	}
	if out := canonical(t, deep(128)); out != deep(128) {
		t.Errorf("128 levels became %s", out)
	}
}

func TestMarshalRefusesWhatEncodingJSONRepairs(t *testing.T) {
	t.Parallel()
	type inner struct{ S string }
	for name, v := range map[string]any{
		"string": "a\xff", "key": map[string]int{"\xff": 1}, "element": []string{"", "\xff"}, "array": [1]string{"\xff"},
		"field": struct{ A inner }{inner{"\xff"}}, "pointer": &inner{"\xff"}, "interface": []any{map[string]any{"x": "\xff"}},
		"text marshaler": latin{}, "text marshaler key": map[latin]int{{}: 1},
		"raw text": json.RawMessage("\"\xff\""), "raw surrogate": map[string]any{"x": json.RawMessage(`"\ud800"`)},
		"raw twice": json.RawMessage(`{"a":1,"a":2}`), "infinity": math.Inf(1), "function": func() {},
		"number": json.Number("1e400"),
	} {
		if out, err := canon.Marshal(v); err == nil {
			t.Errorf("%s was taken for %s", name, out)
		}
	}
	// What stands for itself is no repair.
	out, err := canon.Marshal(map[string]any{"a": "\ufffd", "b": json.RawMessage(`"\ufffd"`), "c": json.Number("1.0"), "d": []byte{0xff}, "e": (*inner)(nil)})
	if want := "{\"a\":\"\ufffd\",\"b\":\"\ufffd\",\"c\":1,\"d\":\"/w==\",\"e\":null}"; err != nil || string(out) != want {
		t.Errorf("got %s, %v, want %s", out, err, want)
	}
	type loop struct{ Next *loop }
	round := &loop{}
	round.Next = round
	if _, err := canon.Marshal(round); err == nil {
		t.Error("a value without an end was taken")
	}
}

type latin struct{}

func (latin) MarshalText() ([]byte, error) { return []byte("caf\xe9"), nil }

func TestMarshalEqualsItsOwnReading(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "value")
		first, err := canon.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := canon.Canonicalize(first)
		if err != nil || string(again) != string(first) {
			t.Fatalf("%s became %s, %v", first, again, err)
		}
		var read any
		if err := json.Unmarshal(first, &read); err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		reread, err := canon.Marshal(read)
		if err != nil || string(reread) != string(first) {
			t.Fatalf("%s was read as %s, %v", first, reread, err)
		}
		// However it is indented and escaped, the form is the same.
		loose, err := json.MarshalIndent(read, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if tight, err := canon.Canonicalize(loose); err != nil || string(tight) != string(first) {
			t.Fatalf("%s became %s, %v", loose, tight, err)
		}
	})
}

// value draws any JSON value of at most depth levels.
func value(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.String().AsAny(),
		rapid.Float64().AsAny(),
		rapid.Int32().AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(value(depth-1), 0, 4).AsAny(),
		rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).AsAny())...)
}

func FuzzCanonicalize(f *testing.F) {
	for _, seed := range []string{`{"b":[1,2.5e-9],"a":"\u20ac"}`, `"\ud83d\ude02"`, `[[[]]]`, `-0`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := canon.Canonicalize(raw)
		if err != nil {
			return
		}
		if !json.Valid(raw) || !json.Valid(out) {
			t.Fatalf("%q was taken for %s", raw, out)
		}
		if again, err := canon.Canonicalize(out); err != nil || string(again) != string(out) {
			t.Fatalf("%s became %s, %v", out, again, err)
		}
	})
}

func ExampleCanonicalize() {
	out, err := canon.Canonicalize([]byte(`{ "scope": "app", "bytes": 1.0E3 }`))
	fmt.Println(string(out), err)
	// Output: {"bytes":1000,"scope":"app"} <nil>
}
