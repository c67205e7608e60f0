-- grain: one row per ({keys}, seconds, entry_seconds, resolution_seconds): what happened at each distinct duration
-- keys: {keys}, seconds, entry_seconds, resolution_seconds
-- columns: n_event, n_censored
-- invariants: n_event + n_censored >= 1; sums to the rows of the group; bounded by the distinct durations, not the rows
-- parameters: rows
SELECT
    {keys}, seconds, entry_seconds, resolution_seconds, count(*) FILTER (WHERE observed) AS n_event,
    count(*) FILTER (WHERE NOT observed) AS n_censored
FROM durations
WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
GROUP BY ALL
ORDER BY seconds, entry_seconds, resolution_seconds
