-- grain: one row per value of a statistic of sessions, requests, waits or steps
-- keys: none; statistic, rule and session_pk say whose value it is
-- columns: as all of section_values: statistic, item (null here), rule, who, value, observed
-- invariants: value >= 0; all observed; by rule tracelab durations are positive where TraceLab's tables take only these
CREATE OR REPLACE TEMP VIEW section_values AS
WITH step AS (
    SELECT rule, pooled, provider, developer, project, session, session_pk, started_at, n_calls, generation_seconds,
        round_pk
    FROM session_steps
),
who AS (
    SELECT rule, session_pk, pooled, provider, developer, project, session, started_at, span_seconds, n_requests,
        n_user_steps, n_tool_steps, n_steps
    FROM session_time
),
measured AS (
    SELECT 'session_seconds' AS statistic, rule, session_pk, CAST(span_seconds AS DOUBLE) AS value FROM who
    WHERE span_seconds > 0
    UNION ALL SELECT 'requests_per_session', rule, session_pk, n_requests FROM who
    UNION ALL SELECT 'user_steps_per_session', rule, session_pk, n_user_steps FROM who
    UNION ALL SELECT 'tool_steps_per_session', rule, session_pk, n_tool_steps FROM who
    UNION ALL SELECT 'steps_per_session', rule, session_pk, n_steps FROM who
    UNION ALL SELECT 'request_seconds', rule, session_pk, seconds FROM session_requests
    UNION ALL SELECT 'tool_steps_per_request', rule, session_pk, n_tool_steps FROM session_requests
    UNION ALL SELECT 'calls_per_request', rule, session_pk, n_calls FROM session_requests
    UNION ALL SELECT 'calls_per_step', rule, session_pk, n_calls FROM step
    UNION ALL SELECT 'generation_seconds', rule, session_pk, generation_seconds FROM step
    WHERE generation_seconds > 0
    UNION ALL SELECT 'human_wait_seconds', rule, session_pk, seconds FROM session_waits WHERE kind = 'message'
    UNION ALL SELECT 'human_wait_after_output_seconds', rule, session_pk, seconds FROM session_waits
    WHERE kind = 'output'
    UNION ALL
    SELECT 'tool_call_seconds', s.rule, s.session_pk,
        coalesce(c.tool_internal_latency_ms, c.tool_wall_latency_ms) / 1e3
    FROM session_steps AS s JOIN tool_calls AS c ON c.round_pk = s.round_pk
    WHERE s.rule = 'tracelab' AND coalesce(c.tool_internal_latency_ms, c.tool_wall_latency_ms) > 0
    UNION ALL
    SELECT 'tool_call_seconds', s.rule, s.session_pk, greatest(0, date_diff('microsecond', c.emitted_at, c.result_at) / 1e6)
    FROM session_steps AS s JOIN tool_calls AS c ON c.round_pk = s.round_pk
    WHERE s.rule = 'tracestat' AND c.result_at IS NOT NULL AND c.start_kind IS DISTINCT FROM 'false'
        AND date_diff('microsecond', c.emitted_at, c.result_at) >= -100000
)
SELECT m.statistic, CAST(NULL AS VARCHAR) AS item, m.rule, w.pooled, w.provider, w.developer, w.project, w.session,
    w.session_pk, w.started_at, m.value, TRUE AS observed
FROM measured AS m JOIN who AS w ON w.rule = m.rule AND w.session_pk = m.session_pk
