-- grain: one row per call of a pause that takes part and has several calls, if it still runs when the pause starts
-- keys: round_pk, tool_index
-- columns: what is known of the call when the pause starts, as in forecast_rows but of this call; lag_seconds: how long
--   it has run by then; then the pause's seconds and observed, equal for all calls of a round
-- invariants: no column but seconds and observed depends on anything after started_at; a call that had returned by
--   then is left out (it costs nothing), so a pause that waits for one call only has one row; lag_seconds >= 0
-- parameters: rows
WITH pause AS (
    SELECT *, coalesce(developer, '') AS who, coalesce(command_skeleton, tool, '') AS what,
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
),
chosen AS (
    SELECT * FROM pause WHERE n_calls > 1 AND {where}
),
member AS (
    SELECT
        p.provider, p.developer, p.who, p.session_pk, p.round_pk, p.started_at, p.project, p.model, c.tool_index,
        c.tool, c.tool_class, c.command_class, coalesce(c.command_skeleton, c.tool) AS command_skeleton,
        coalesce(c.command_skeleton, c.tool, '') AS what, c.command_fingerprint, c.permission_mode,
        c.asked_limit_seconds, p.n_calls, p.context_tokens, p.context_band, p."hour", p.weekday,
        greatest(0, date_diff('microsecond', c.started_at, p.started_at) / 1e6) AS lag_seconds, p.seconds, p.observed
    FROM chosen AS p JOIN calls AS c ON c.round_pk = p.round_pk
    WHERE NOT c.observed OR c.seconds IS NULL
        OR c.started_at + to_microseconds(CAST(round(c.seconds * 1e6) AS BIGINT)) > p.started_at
)
SELECT
    m.provider, m.developer, m.session_pk, m.round_pk, m.tool_index, m.started_at, m.project, m.model, m.tool,
    m.tool_class, m.command_class, m.command_skeleton, m.command_fingerprint, m.permission_mode,
    m.asked_limit_seconds, m.n_calls, m.context_tokens, m.context_band, m."hour", m.weekday,
    d.seconds AS previous, s.seconds AS previous_in_session, m.lag_seconds,
    m.seconds, m.observed
FROM member AS m
ASOF LEFT JOIN by_developer AS d
    ON d.provider = m.provider AND d.who = m.who AND d.what = m.what AND m.started_at > d.ended_at
ASOF LEFT JOIN by_session AS s
    ON s.session_pk = m.session_pk AND s.what = m.what AND m.started_at > s.ended_at
ORDER BY m.started_at, m.round_pk, m.tool_index
