-- settings: what every session of the ledger needs, put on its database, because
-- that holds through any pooler. synchronous_commit off would hand a fence out twice
-- after a crash; jit costs more than the statements. Only the owner may; a worker
-- checks what is in force anyway.
DO $$
BEGIN
	IF EXISTS (
		SELECT
		FROM pg_catalog.pg_database
		WHERE datname = current_database() AND pg_has_role(datdba, 'USAGE')
	) THEN
		EXECUTE format('ALTER DATABASE %I SET statement_timeout = %L', current_database(), '30s');
		EXECUTE format('ALTER DATABASE %I SET lock_timeout = %L', current_database(), '5s');
		EXECUTE format('ALTER DATABASE %I SET idle_in_transaction_session_timeout = %L', current_database(), '60s');
		EXECUTE format('ALTER DATABASE %I SET synchronous_commit = %L', current_database(), 'on');
		EXECUTE format('ALTER DATABASE %I SET jit = %L', current_database(), 'off');
	END IF;
END
$$;
