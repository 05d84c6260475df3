-- now: the ledger's clock.
SELECT clock_timestamp();
