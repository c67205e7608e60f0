-- grain: one row per call of a pause that takes part and has several calls, if it still runs when the pause starts
-- keys: round_pk, tool_index
-- columns: what is known of the call when the pause starts, as in forecast_rows but of this call; lag_seconds: how long
--   it has run by then; then the pause's seconds and observed, equal for all calls of a round
-- invariants: no column but seconds and observed depends on anything after started_at; a call that had returned by
--   then is left out (it costs nothing), so a pause that waits for one call only has one row; lag_seconds >= 0
-- parameters: rows
WITH pause AS MATERIALIZED (
    SELECT *, hash(provider, developer, coalesce(command_skeleton, tool)) AS what,
        hash(provider, developer, tool_class) AS class_of,
        hash(session_pk, tool) AS session_tool,
        started_at + to_microseconds(CAST(round(seconds * 1e6) AS BIGINT)) AS ended_at,
        ln(greatest(seconds, 1e-3)) AS ln_seconds
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows)
),
-- of several that end at one instant the longest is the last, so that the order of rows does not matter
weighed AS (
    SELECT what, ended_at, seconds, ln_seconds,
        lead(ended_at) OVER so_far IS NOT DISTINCT FROM ended_at AS again,
        lag(ln_seconds, 1) OVER so_far AS second, lag(ln_seconds, 2) OVER so_far AS third,
        lag(ln_seconds, 3) OVER so_far AS fourth, lag(ln_seconds, 4) OVER so_far AS fifth
    FROM pause
    WHERE observed
    WINDOW so_far AS (PARTITION BY what ORDER BY ended_at, seconds)
),
of_developer AS (
    SELECT what, ended_at, seconds,
        exp((ln_seconds + coalesce(second, 0) / 2 + coalesce(third, 0) / 4 + coalesce(fourth, 0) / 8
                + coalesce(fifth, 0) / 16)
            / (1 + (second IS NOT NULL)::DOUBLE / 2 + (third IS NOT NULL)::DOUBLE / 4
                + (fourth IS NOT NULL)::DOUBLE / 8 + (fifth IS NOT NULL)::DOUBLE / 16)) AS recent
    FROM weighed
    WHERE NOT again
),
of_class AS (
    SELECT class_of, ended_at, max(seconds) AS seconds FROM pause WHERE observed GROUP BY ALL
),
of_session AS (
    SELECT session_tool, ended_at, max(seconds) AS seconds FROM pause WHERE observed GROUP BY ALL
),
chosen AS (
    SELECT * FROM pause WHERE n_calls > 1 AND {where}
),
member AS (
    SELECT
        p.provider, p.developer, p.session_pk, p.round_pk, p.started_at, p.project, p.model, c.tool_index,
        c.tool, c.tool_class, c.command_class, coalesce(c.command_skeleton, c.tool) AS command_skeleton,
        hash(p.provider, p.developer, coalesce(c.command_skeleton, c.tool)) AS what,
        hash(p.provider, p.developer, c.tool_class) AS class_of, hash(p.session_pk, c.tool) AS session_tool,
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
ASOF LEFT JOIN of_developer AS d ON d.what = m.what AND m.started_at > d.ended_at
ASOF LEFT JOIN of_class AS k ON k.class_of = m.class_of AND m.started_at > k.ended_at
ASOF LEFT JOIN of_session AS s ON s.session_tool = m.session_tool AND m.started_at > s.ended_at
ORDER BY m.started_at, m.round_pk, m.tool_index
