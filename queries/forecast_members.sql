-- grain: one row per call of a pause that takes part and has several calls, if it still runs when the pause starts
-- keys: round_pk, tool_index
-- columns: what is known of the call when the pause starts, as in forecast_rows but of this call; lag_seconds: how long
--   it has run by then; then the pause's seconds and observed, equal for all calls of a round
-- invariants: no column but seconds and observed depends on anything after started_at; a call that had returned by
--   then is left out (it costs nothing), so a pause that waits for one call only has one row; lag_seconds >= 0
-- parameters: rows
WITH chosen AS (
    SELECT *
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND n_calls > 1 AND {where}
),
member AS (
    SELECT
        p.provider, p.developer, p.session_pk, p.round_pk, p.started_at, p.project, p.model, c.tool_index,
        c.tool, c.tool_class, c.command_class, coalesce(c.command_skeleton, c.tool) AS command_skeleton,
        hash('command', p.provider, p.developer, coalesce(c.command_skeleton, c.tool)) AS command,
        hash('class', p.provider, p.developer, c.tool_class) AS class_of,
        hash('session', p.session_pk, c.tool) AS session_tool,
        c.command_fingerprint, c.permission_mode,
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
    d.recent, d.seconds AS previous, k.seconds AS previous_in_class, s.seconds AS previous_in_session, m.lag_seconds,
    m.seconds, m.observed
FROM member AS m
ASOF LEFT JOIN forecast_ends AS d ON d.owner = m.command AND m.started_at > d.ended_at
ASOF LEFT JOIN forecast_ends AS k ON k.owner = m.class_of AND m.started_at > k.ended_at
ASOF LEFT JOIN forecast_ends AS s ON s.owner = m.session_tool AND m.started_at > s.ended_at
ORDER BY m.started_at, m.round_pk, m.tool_index
