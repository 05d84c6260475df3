package backup

import (
	"slices"
	"strings"
	"testing"
)

func TestRolesAreReadFromDefinitionsAndPrivilegesOnly(t *testing.T) {
	t.Parallel()
	text := `--
-- Name: s; Type: SCHEMA; Schema: -; Owner: od d
--
ALTER SCHEMA s OWNER TO "od d";
--
-- Name: f(); Type: FUNCTION; Schema: public; Owner: alice
--
CREATE FUNCTION public.f() RETURNS text LANGUAGE sql AS $$
GRANT SELECT ON nothing TO nobody;
$$;
-- Name: t; Type: TABLE; Schema: public; Owner: bob; Tablespace: fast
-- Name: plpgsql; Type: EXTENSION; Schema: -; Owner: -
-- Name: TABLE t; Type: ACL; Schema: public; Owner: alice
REVOKE ALL ON TABLE public.t FROM carol;
GRANT SELECT ON TABLE public.t TO "da""ve" WITH GRANT OPTION;
GRANT SELECT ON TABLE public.t TO PUBLIC;
SET SESSION AUTHORIZATION erin;
` + strings.Repeat("x", 100_000) + `
GRANT SELECT ON TABLE public.t TO erin;
-- Name: DEFAULT PRIVILEGES FOR TABLES; Type: DEFAULT ACL; Schema: s; Owner: alice
ALTER DEFAULT PRIVILEGES FOR ROLE alice IN SCHEMA s GRANT SELECT ON TABLES  TO frank;
-- Name: p; Type: POLICY; Schema: public; Owner: alice
GRANT SELECT ON TABLE public.t TO nobody;`
	got, err := parseNeeds(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"alice", "bob", "od d"}; !slices.Equal(got.owners, want) {
		t.Errorf("owners %q, want %q", got.owners, want)
	}
	if want := []string{"carol", `da"ve`, "erin", "frank"}; !slices.Equal(got.grantees, want) {
		t.Errorf("grantees %q, want %q", got.grantees, want)
	}
}

func TestCollationIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]locale{
		"C.UTF-8":                     {"C.UTF-8", "C.UTF-8", "libc", ""},
		"C;ctype=en_US.UTF-8":         {"C", "en_US.UTF-8", "libc", ""},
		"C.UTF-8;icu=de-u-co-phonebk": {"C.UTF-8", "C.UTF-8", "icu", "de-u-co-phonebk"},
		"C;ctype=C.UTF-8;builtin=C":   {"C", "C.UTF-8", "builtin", "C"},
	} {
		if got := parseCollation(text); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}
