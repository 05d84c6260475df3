-- rate_reset: nothing was claimed in this minute yet.
UPDATE heyaira_loop.work_type
SET minute_claims = 0
WHERE name = $1::text;
