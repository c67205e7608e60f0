-- grain: one row per (rule, session): its time from the first stamp to the last, by state
-- keys: rule, session_pk
-- columns: n_steps, n_user_steps, n_tool_steps (by first_input_event_type), n_calls, n_requests; n_waits, and those
--   within 5 min and 1 h with their time (wait_seconds, kind message); span_seconds;
--   human_seconds, human_capped_seconds (no wait longer than $cap), generation_seconds, tool_seconds; asked_seconds, the
--   tools that ask a person, which rule tracestat counts as human and rule tracelab as tools (there null)
-- sums of seconds are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: by rule tracestat the states add up to at most span_seconds, what is left is known to nobody; by rule
--   tracelab they may overlap, since parallel calls are added and generation streams while tools run
-- parameters: cap
CREATE OR REPLACE TEMP TABLE session_time AS
WITH whole AS (
    SELECT rule, session_pk, any_value(provider) AS provider, any_value(developer) AS developer,
        any_value(project) AS project, any_value(session) AS session, any_value(started_at) AS started_at,
        count(*) AS n_steps, sum(n_calls) AS n_calls,
        count(*) FILTER (WHERE first_input_event_type = 'user_message') AS n_user_steps,
        count(*) FILTER (WHERE first_input_event_type = 'tool_result') AS n_tool_steps,
        min(first_stamp) AS first_stamp, max(last_stamp) AS last_stamp, max(last_activity) AS last_activity,
        coalesce(sum(CAST(generation_seconds AS DECIMAL(38, 6))), 0) AS generation_seconds,
        sum(CAST(tool_seconds AS DECIMAL(38, 6))) AS tool_seconds
    FROM session_steps
    GROUP BY rule, session_pk
),
waited AS (
    SELECT rule, session_pk, count(*) AS n_waits, sum(CAST(seconds AS DECIMAL(38, 6))) AS human_seconds,
        sum(CAST(least(seconds, CAST($cap AS DOUBLE)) AS DECIMAL(38, 6))) AS human_capped_seconds,
        count(*) FILTER (WHERE seconds <= 300) AS n_waits_5min, count(*) FILTER (WHERE seconds <= 3600) AS n_waits_1h,
        coalesce(sum(CAST(seconds AS DECIMAL(38, 6))) FILTER (WHERE seconds <= 300), 0) AS wait_seconds_5min,
        coalesce(sum(CAST(seconds AS DECIMAL(38, 6))) FILTER (WHERE seconds <= 3600), 0) AS wait_seconds_1h
    FROM session_waits
    WHERE kind = 'message'
    GROUP BY rule, session_pk
),
asked AS (
    SELECT rule, session_pk, count(*) AS n_requests FROM session_requests GROUP BY rule, session_pk
),
spent AS (
    SELECT 'tracestat' AS rule, session_pk, max(until) AS last_end,
        coalesce(sum(CAST(seconds AS DECIMAL(38, 6))) FILTER (WHERE state IN ('human', 'asked')), 0) AS human_seconds,
        coalesce(sum(CAST(least(seconds, CAST($cap AS DOUBLE)) AS DECIMAL(38, 6)))
            FILTER (WHERE state IN ('human', 'asked')), 0) AS human_capped_seconds,
        coalesce(sum(CAST(seconds AS DECIMAL(38, 6))) FILTER (WHERE state = 'generation'), 0) AS generation_seconds,
        coalesce(sum(CAST(seconds AS DECIMAL(38, 6))) FILTER (WHERE state = 'tools'), 0) AS tool_seconds,
        coalesce(sum(CAST(seconds AS DECIMAL(38, 6))) FILTER (WHERE state = 'asked'), 0) AS asked_seconds
    FROM (SELECT *, date_diff('microsecond', began_at, until) / 1e6 AS seconds FROM session_spells)
    GROUP BY session_pk
)
SELECT w.rule, w.session_pk, TRUE AS pooled, w.provider, w.developer, w.project, w.session, w.started_at,
    w.first_stamp, w.last_stamp, w.n_steps, w.n_user_steps, w.n_tool_steps, w.n_calls,
    coalesce(q.n_requests, 0) AS n_requests, coalesce(h.n_waits, 0) AS n_waits,
    coalesce(h.n_waits_5min, 0) AS n_waits_5min, coalesce(h.n_waits_1h, 0) AS n_waits_1h,
    coalesce(h.human_seconds, 0) AS wait_seconds, coalesce(h.wait_seconds_5min, 0) AS wait_seconds_5min,
    coalesce(h.wait_seconds_1h, 0) AS wait_seconds_1h,
    coalesce(date_diff('microsecond', w.first_stamp,
        CASE WHEN w.rule = 'tracelab' THEN w.last_stamp ELSE greatest(w.last_activity, p.last_end) END) / 1e6, 0)
        AS span_seconds,
    CASE WHEN w.rule = 'tracelab' THEN coalesce(h.human_seconds, 0) ELSE coalesce(p.human_seconds, 0) END
        AS human_seconds,
    CASE WHEN w.rule = 'tracelab' THEN coalesce(h.human_capped_seconds, 0) ELSE coalesce(p.human_capped_seconds, 0) END
        AS human_capped_seconds,
    CASE WHEN w.rule = 'tracelab' THEN w.generation_seconds ELSE coalesce(p.generation_seconds, 0) END
        AS generation_seconds,
    CASE WHEN w.rule = 'tracelab' THEN w.tool_seconds ELSE coalesce(p.tool_seconds, 0) END AS tool_seconds,
    CASE WHEN w.rule = 'tracestat' THEN coalesce(p.asked_seconds, 0) END AS asked_seconds
FROM whole AS w
LEFT JOIN waited AS h ON h.rule = w.rule AND h.session_pk = w.session_pk
LEFT JOIN asked AS q ON q.rule = w.rule AND q.session_pk = w.session_pk
LEFT JOIN spent AS p ON p.rule = w.rule AND p.session_pk = w.session_pk
