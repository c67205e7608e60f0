-- grain: one row per (rule, request): what a user message set off, up to the model's last output before the next one
-- keys: rule, session_pk, request
-- columns: n_steps, n_user_steps, n_tool_steps, n_calls, seconds; generation_seconds, tool_seconds, asked_seconds as in
--   sessions_time, inside the request
-- sums of seconds are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: seconds > 0; a request ends with an output of the model; steps before the first message belong to none;
--   by rule tracestat the parts add up to at most seconds
CREATE OR REPLACE TEMP TABLE session_requests AS
WITH whole AS (
    SELECT rule, session_pk, request, any_value(provider) AS provider, any_value(developer) AS developer,
        any_value(project) AS project, any_value(session) AS session, any_value(started_at) AS started_at,
        count(*) AS n_steps, sum(n_calls) AS n_calls,
        count(*) FILTER (WHERE first_input_event_type = 'user_message') AS n_user_steps,
        count(*) FILTER (WHERE first_input_event_type = 'tool_result') AS n_tool_steps,
        arg_min(trigger_at, place) FILTER (WHERE trigger_at IS NOT NULL) AS began_at, max(last_output) AS until,
        coalesce(sum(CAST(generation_seconds AS DECIMAL(38, 6))), 0) AS generation_seconds,
        sum(CAST(tool_seconds AS DECIMAL(38, 6))) AS tool_seconds
    FROM session_steps
    WHERE request > 0
    GROUP BY rule, session_pk, request
),
spent AS (
    SELECT w.rule, w.session_pk, w.request,
        coalesce(sum(CAST(seconds AS DECIMAL(38, 6))) FILTER (WHERE state = 'generation'), 0) AS generation_seconds,
        coalesce(sum(CAST(seconds AS DECIMAL(38, 6))) FILTER (WHERE state = 'tools'), 0) AS tool_seconds,
        coalesce(sum(CAST(seconds AS DECIMAL(38, 6))) FILTER (WHERE state = 'asked'), 0) AS asked_seconds
    FROM (
        SELECT w.rule, w.session_pk, w.request, p.state, greatest(0, date_diff('microsecond',
            greatest(p.began_at, w.began_at), least(p.until, w.until))) / 1e6 AS seconds
        FROM whole AS w JOIN session_spells AS p ON p.session_pk = w.session_pk AND p.request = w.request
        WHERE w.rule = 'tracestat'
    ) AS w
    GROUP BY ALL
)
SELECT w.* EXCLUDE (began_at, until, generation_seconds, tool_seconds), TRUE AS pooled,
    date_diff('microsecond', w.began_at, w.until) / 1e6 AS seconds,
    CASE WHEN w.rule = 'tracelab' THEN w.generation_seconds ELSE coalesce(p.generation_seconds, 0) END
        AS generation_seconds,
    CASE WHEN w.rule = 'tracelab' THEN w.tool_seconds ELSE coalesce(p.tool_seconds, 0) END AS tool_seconds,
    CASE WHEN w.rule = 'tracestat' THEN coalesce(p.asked_seconds, 0) END AS asked_seconds
FROM whole AS w
LEFT JOIN spent AS p ON p.rule = w.rule AND p.session_pk = w.session_pk AND p.request = w.request
WHERE w.began_at < w.until
