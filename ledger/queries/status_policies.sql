-- status_policies: work types whose policy is not the same on all hosts, with the hosts.
-- Hosts that are gone for a week do not count, as in register_types.
SELECT p.work_type, array_agg(p.host ORDER BY p.host) AS hosts
FROM heyaira_loop.policy_seen p
LEFT JOIN heyaira_loop.beat b USING (host)
WHERE greatest(p.seen_at, b.ticked_at) > statement_timestamp() - interval '7 days'
GROUP BY p.work_type
HAVING count(DISTINCT p.policy) > 1
ORDER BY p.work_type;
