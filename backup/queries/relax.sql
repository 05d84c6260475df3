-- relax: no time limit may end the session whose snapshot a dump uses. Run before its
-- transaction begins. A setting that the server does not know is left alone:
-- transaction_timeout came with 17.
SELECT count(pg_catalog.set_config(s.name, '0', false))
FROM pg_catalog.pg_settings s
WHERE s.name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')
