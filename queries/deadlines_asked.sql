-- grain: one row per ({keys}, provider, tool, limit, session, developer): calls that ran as long as the limit they asked
--   for
-- keys: {keys}, limit_provider, limit_tool, limit_seconds, session_pk, developer_id (limit_seconds -1: all calls of the
--   session, whatever they asked for, on one row without tool)
-- columns: n (for limit -1 all calls), n_seen (with a result), n_at_risk (ended on the limit, or lasted as long by the
--   wall clock less the known wait before the start), first_seconds and last_seconds (of those that ended on it),
--   seconds (of all)
-- invariants: beside summary_limits, whose n_ended <= n_at_risk; a call without a result is not at risk, since nobody
--   saw whether the limit ended it
-- parameters: rows
WITH spell AS (
    SELECT {keys}, provider AS limit_provider, tool AS limit_tool, asked_limit_seconds AS limit_seconds, session_pk,
        hash(developer) AS developer_id, observed, end_kind IN ('deadline', 'timeout') AND observed AS ended,
        seconds, CAST(round(seconds * 1e6) AS BIGINT) AS micros, seconds - coalesce(approval_seconds, 0) AS ran_seconds
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
)
SELECT s.* EXCLUDE (observed, ended, seconds, micros, ran_seconds), count(*) AS n,
    count(*) FILTER (WHERE observed) AS n_seen,
    count(*) FILTER (WHERE ended OR observed AND ran_seconds >= limit_seconds - greatest(0.005, 0.001 * limit_seconds))
        AS n_at_risk,
    min(s.seconds) FILTER (WHERE ended) AS first_seconds, max(s.seconds) FILTER (WHERE ended) AS last_seconds,
    sum(micros) / 1e6 AS seconds
FROM spell AS s
WHERE limit_seconds IS NOT NULL
GROUP BY ALL
UNION ALL BY NAME
SELECT s.* EXCLUDE (observed, ended, seconds, micros, ran_seconds, limit_tool, limit_seconds), NULL AS limit_tool,
    -1e0 AS limit_seconds, count(*) AS n, count(*) FILTER (WHERE observed) AS n_seen, count(*) AS n_at_risk,
    NULL AS first_seconds, NULL AS last_seconds, sum(micros) / 1e6 AS seconds
FROM spell AS s
GROUP BY ALL
ORDER BY session_pk, limit_provider, limit_tool, limit_seconds
