-- status_hosts: when each host ticked last, for how long, over how many scopes.
SELECT host, ticked_at, version, scopes, took
FROM heyaira_loop.beat
ORDER BY host;
