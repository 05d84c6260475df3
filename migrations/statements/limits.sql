-- limits: a migration may take its time, but not wait for ever for a lock: what waits
-- behind it is every worker.
SET LOCAL statement_timeout = 0;
SET LOCAL lock_timeout = '60s';
