-- create_database: writes the statement that makes a restore's target, since a name
-- cannot be an argument of it. $1 text name, $2 text encoding, $3 text LC_COLLATE,
-- $4 text LC_CTYPE, $5 text provider (libc, icu, builtin), $6 text the provider's
-- locale. template0 alone takes an encoding and a locale of its own.
SELECT format('CREATE DATABASE %I TEMPLATE template0 ENCODING %L LC_COLLATE %L LC_CTYPE %L',
		$1::text, $2::text, $3::text, $4::text)
	|| CASE $5::text
		WHEN 'icu' THEN format(' LOCALE_PROVIDER icu ICU_LOCALE %L', $6::text)
		WHEN 'builtin' THEN format(' LOCALE_PROVIDER builtin BUILTIN_LOCALE %L', $6::text)
		ELSE ''
	END
