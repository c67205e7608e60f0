-- grain: one row per pause that takes part
-- keys: round_pk
-- columns: what is known when the pause starts (who, what, when, what came before), then seconds and observed
--   command_skeleton: the tool's name where there is none. History counts pauses that had ended before this one started:
--   recent: mean (of logarithms) of the last five of the same developer and skeleton, each older one with half the
--   weight; previous: the last of them; previous_in_class: the last of the same developer and tool class;
--   previous_in_session: the last of the same session and tool
-- invariants: no column but seconds and observed depends on anything after started_at; history is that of other rows,
--   also where a pause of no length starts and ends at once; history does not depend on {where}
-- parameters: rows
WITH pause AS MATERIALIZED (
    SELECT * REPLACE (coalesce(command_skeleton, tool) AS command_skeleton),
        hash(provider, developer, coalesce(command_skeleton, tool)) AS what,
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
)
SELECT
    p.provider, p.developer, p.session_pk, p.round_pk, p.started_at, p.project, p.model, p.tool, p.tool_class,
    p.command_class, p.command_skeleton, p.command_fingerprint, p.permission_mode, p.asked_limit_seconds, p.n_calls,
    p.context_tokens, p.context_band, p."hour", p.weekday,
    d.recent, d.seconds AS previous, c.seconds AS previous_in_class, s.seconds AS previous_in_session,
    p.seconds, p.observed
FROM pause AS p
ASOF LEFT JOIN of_developer AS d ON d.what = p.what AND p.started_at > d.ended_at
ASOF LEFT JOIN of_class AS c ON c.class_of = p.class_of AND p.started_at > c.ended_at
ASOF LEFT JOIN of_session AS s ON s.session_tool = p.session_tool AND p.started_at > s.ended_at
WHERE {where}
ORDER BY p.started_at, p.round_pk
