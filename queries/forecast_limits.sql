-- grain: one row per (provider, tool class): pauses of one call that asked for a limit and had not ended before it
-- keys: provider, tool_class
-- columns: n_reached (ended on the limit, or lasted as long by the wall clock less the known wait before the start),
--   n_ended (of those, on the limit); n_untold: pauses whose source names the limits only of calls that ended on them, in
--   neither of the two
-- invariants: n_ended <= n_reached; at risk and on the limit as in deadlines_asked, sources as in summary_limits; a pause of
--   several calls has no limit of its own, and one without a result is not at risk: nobody saw whether the limit ended it
-- parameters: rows
WITH limited AS (
    SELECT c.round_pk, min(s.format) AS format
    FROM tool_calls AS c LEFT JOIN sources AS s USING (source_id)
    WHERE c.asked_limit_seconds IS NOT NULL
    GROUP BY c.round_pk
),
knowledge AS (
    SELECT l.format, c.provider, c.tool, bool_or(c.end_kind NOT IN ('deadline', 'timeout')) AS complete
    FROM calls AS c JOIN limited AS l USING (round_pk)
    WHERE c.asked_limit_seconds IS NOT NULL
    GROUP BY ALL
),
spell AS (
    SELECT provider, tool, tool_class, round_pk, end_kind IN ('deadline', 'timeout') AS ended,
        seconds - coalesce(approval_seconds, 0)
            >= asked_limit_seconds - greatest(0.005, 0.001 * asked_limit_seconds) AS lasted
    FROM durations
    WHERE asked_limit_seconds IS NOT NULL AND n_calls = 1 AND observed AND excluded IS NULL
        AND ($rows = 'all' OR row_kind = $rows) AND {where}
)
SELECT s.provider, s.tool_class, count(*) FILTER (WHERE k.complete AND (s.ended OR s.lasted)) AS n_reached,
    count(*) FILTER (WHERE k.complete AND s.ended) AS n_ended, count(*) FILTER (WHERE NOT k.complete) AS n_untold
FROM spell AS s
JOIN limited AS l USING (round_pk)
JOIN knowledge AS k
    ON k.format IS NOT DISTINCT FROM l.format AND k.provider IS NOT DISTINCT FROM s.provider
        AND k.tool IS NOT DISTINCT FROM s.tool
GROUP BY ALL
ORDER BY s.provider, s.tool_class
