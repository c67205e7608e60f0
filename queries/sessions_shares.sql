-- grain: one row per (rule, session): the sums whose ratios say where the time of sessions goes
-- keys: rule, session_pk, developer_id
-- columns: as session_time; then request_* , the sums of its requests; step_*, of all its steps; n_compactions; and
--   counts of sessions (1 or 0): n_sessions, timed, no_wait, multiround (more than one step), compacted
-- sums of seconds are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: sessions without a positive span have no shares of time (timed is 0), as in TraceLab's table
WITH request AS (
    SELECT rule, session_pk, sum(n_tool_steps) AS request_tool_steps, sum(n_calls) AS request_calls,
        sum(CAST(seconds AS DECIMAL(38, 6))) AS request_seconds,
        sum(CAST(generation_seconds AS DECIMAL(38, 6))) AS request_generation_seconds,
        sum(CAST(tool_seconds AS DECIMAL(38, 6))) AS request_tool_seconds,
        sum(CAST(asked_seconds AS DECIMAL(38, 6))) AS request_asked_seconds
    FROM session_requests
    GROUP BY rule, session_pk
),
generated AS (
    SELECT rule, session_pk, sum(CAST(generation_seconds AS DECIMAL(38, 6))) AS step_generation_seconds,
        sum(CAST(tool_seconds AS DECIMAL(38, 6))) AS step_tool_seconds
    FROM session_steps
    GROUP BY rule, session_pk
),
compacted AS (
    SELECT rule, session_pk, count(*) AS n_compactions FROM session_compactions GROUP BY rule, session_pk
)
SELECT t.*, hash(t.developer) AS developer_id, 1 AS n_sessions, CAST(t.span_seconds > 0 AS INTEGER) AS timed,
    CAST(t.n_waits = 0 AS INTEGER) AS no_wait, CAST(t.n_steps > 1 AS INTEGER) AS multiround,
    coalesce(r.request_tool_steps, 0) AS request_tool_steps, coalesce(r.request_calls, 0) AS request_calls,
    coalesce(r.request_seconds, 0) AS request_seconds,
    coalesce(r.request_generation_seconds, 0) AS request_generation_seconds,
    coalesce(r.request_tool_seconds, 0) AS request_tool_seconds,
    coalesce(r.request_asked_seconds, 0) AS request_asked_seconds,
    coalesce(g.step_generation_seconds, 0) AS step_generation_seconds,
    CASE WHEN t.rule = 'tracelab' THEN coalesce(g.step_tool_seconds, 0) ELSE t.tool_seconds + t.asked_seconds END
        AS step_tool_seconds,
    CAST(c.n_compactions IS NOT NULL AS INTEGER) AS compacted, coalesce(c.n_compactions, 0) AS n_compactions
FROM session_time AS t
LEFT JOIN request AS r ON r.rule = t.rule AND r.session_pk = t.session_pk
LEFT JOIN generated AS g ON g.rule = t.rule AND g.session_pk = t.session_pk
LEFT JOIN compacted AS c ON c.rule = t.rule AND c.session_pk = t.session_pk
WHERE {where}
ORDER BY t.rule, t.session_pk
