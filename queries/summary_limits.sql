-- grain: one row per ({keys}, provider, tool, asked limit, complete, session, developer): calls and how they ended
-- keys: {keys}, limit_provider, limit_tool, limit_seconds, complete, session_pk, developer_id
-- columns: complete: sources of this format know the limits of this tool also where calls ended otherwise, so that the
--   calls which ended on the limit have all those that asked for it beside them; n calls; n_unseen without a result;
--   n_ended on the limit, and the wall time of these
-- sums are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: n_unseen + n_ended <= n; without a limit no row
-- parameters: rows
WITH limited AS (
    SELECT c.round_pk, min(s.format) AS format
    FROM tool_calls AS c LEFT JOIN sources AS s USING (source_id)
    WHERE c.asked_limit_seconds IS NOT NULL
    GROUP BY c.round_pk
),
knowledge AS (
    SELECT l.format, c.provider AS limit_provider, c.tool AS limit_tool,
        bool_or(c.end_kind NOT IN ('deadline', 'timeout')) AS complete
    FROM calls AS c JOIN limited AS l USING (round_pk)
    WHERE c.asked_limit_seconds IS NOT NULL
    GROUP BY ALL
),
asked AS (
    SELECT {keys}, provider AS limit_provider, tool AS limit_tool, asked_limit_seconds AS limit_seconds, session_pk,
        hash(developer) AS developer_id, round_pk, NOT observed AS unseen,
        end_kind IN ('deadline', 'timeout') AS ended, CAST(round(seconds * 1e6) AS BIGINT) AS micros
    FROM durations
    WHERE asked_limit_seconds IS NOT NULL AND excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
)
SELECT
    a.* EXCLUDE (round_pk, unseen, ended, micros), k.complete, count(*) AS n, count(*) FILTER (WHERE a.unseen) AS n_unseen,
    count(*) FILTER (WHERE a.ended AND NOT a.unseen) AS n_ended,
    coalesce(sum(a.micros) FILTER (WHERE a.ended AND NOT a.unseen), 0) / 1e6 AS seconds_ended
FROM asked AS a
JOIN limited AS l USING (round_pk)
JOIN knowledge AS k
    ON k.format IS NOT DISTINCT FROM l.format AND k.limit_provider = a.limit_provider
    AND k.limit_tool IS NOT DISTINCT FROM a.limit_tool
GROUP BY ALL
ORDER BY limit_provider, limit_tool, limit_seconds, complete, session_pk
