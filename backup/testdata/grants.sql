-- grants: privileges of one role, which the test names. $1 is put in by format().
DO $$
DECLARE
	role text := current_setting('test.role');
BEGIN
	EXECUTE format('CREATE ROLE %I', role);
	EXECUTE format('GRANT USAGE ON SCHEMA shop TO %I', role);
	EXECUTE format('GRANT SELECT, UPDATE (mood) ON shop.customer TO %I WITH GRANT OPTION', role);
	EXECUTE format('GRANT SELECT ON LARGE OBJECT 424242 TO %I', role);
	EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA shop GRANT SELECT ON TABLES TO %I', role);
	EXECUTE format('ALTER TABLE shop.session OWNER TO %I', role);
END
$$;
