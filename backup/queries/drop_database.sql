-- drop_database: writes the statement that takes back a target that a restore made.
-- $1 text name. FORCE ends the sessions of a pg_restore that was killed.
SELECT format('DROP DATABASE %I WITH (FORCE)', $1::text)
