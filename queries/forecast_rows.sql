-- grain: one row per pause that takes part
-- keys: round_pk
-- columns: what is known when the pause starts (who, what, when, what came before), then seconds and observed
--   command_skeleton: the tool's name where there is none. History counts pauses that had ended before this one started
--   (forecast_ends): recent, previous: of the same developer and skeleton, the mean of the last five and the last;
--   previous_in_class: the last of the same developer and tool class; previous_in_session: of the same session and tool
-- invariants: no column but seconds and observed depends on anything after started_at; history is that of other rows,
--   also where a pause of no length starts and ends at once; history does not depend on {where}
-- parameters: rows
WITH pause AS (
    SELECT * REPLACE (coalesce(command_skeleton, tool) AS command_skeleton),
        hash('command', provider, developer, coalesce(command_skeleton, tool)) AS command,
        hash('class', provider, developer, tool_class) AS class_of,
        hash('session', session_pk, tool) AS session_tool
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
)
SELECT
    p.provider, p.developer, p.session_pk, p.round_pk, p.started_at, p.project, p.model, p.tool, p.tool_class,
    p.command_class, p.command_skeleton, p.command_fingerprint, p.permission_mode, p.asked_limit_seconds, p.n_calls,
    p.context_tokens, p.context_band, p."hour", p.weekday,
    d.recent, d.seconds AS previous, c.seconds AS previous_in_class, s.seconds AS previous_in_session,
    p.seconds, p.observed
FROM pause AS p
ASOF LEFT JOIN forecast_ends AS d ON d.owner = p.command AND p.started_at > d.ended_at
ASOF LEFT JOIN forecast_ends AS c ON c.owner = p.class_of AND p.started_at > c.ended_at
ASOF LEFT JOIN forecast_ends AS s ON s.owner = p.session_tool AND p.started_at > s.ended_at
ORDER BY p.started_at, p.round_pk
