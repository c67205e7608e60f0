-- grain: one row per pause that takes part
-- keys: round_pk
-- columns: what is known when the pause starts (who, what, when, what came before), then seconds and observed
--   command_skeleton: the tool's name where there is none; previous: length of the last pause of the same developer and
--   skeleton that had ended before this one started; previous_in_session: the same within the session
-- invariants: no column but seconds and observed depends on anything after started_at; previous is that of another row,
--   also where a pause of no length starts and ends at once; history does not depend on {where}
-- parameters: rows
WITH pause AS (
    SELECT * REPLACE (coalesce(command_skeleton, tool) AS command_skeleton),
        coalesce(developer, '') AS who,
        coalesce(command_skeleton, tool, '') AS what,
        started_at + to_microseconds(CAST(round(seconds * 1e6) AS BIGINT)) AS ended_at
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows)
),
-- several that end at one instant: the longest, so that the order of rows does not matter
by_developer AS (
    SELECT provider, who, what, ended_at, max(seconds) AS seconds FROM pause WHERE observed GROUP BY ALL
),
by_session AS (
    SELECT session_pk, what, ended_at, max(seconds) AS seconds FROM pause WHERE observed GROUP BY ALL
)
SELECT
    p.provider, p.developer, p.session_pk, p.round_pk, p.started_at, p.project, p.model, p.tool, p.tool_class,
    p.command_class, p.command_skeleton, p.command_fingerprint, p.permission_mode, p.asked_limit_seconds, p.n_calls,
    p.context_tokens, p.context_band, p."hour", p.weekday,
    d.seconds AS previous, s.seconds AS previous_in_session,
    p.seconds, p.observed
FROM pause AS p
ASOF LEFT JOIN by_developer AS d
    ON d.provider = p.provider AND d.who = p.who AND d.what = p.what AND p.started_at > d.ended_at
ASOF LEFT JOIN by_session AS s
    ON s.session_pk = p.session_pk AND s.what = p.what AND p.started_at > s.ended_at
WHERE {where}
ORDER BY p.started_at, p.round_pk
