-- grain: one row per (rule, kind, wait): a time in which a session waits for a person's message
-- keys: rule, kind, round_pk, until
-- columns: began_at, until, seconds; kind: message (from the stamp before to any user message) or output (from the
--   model's last output to the message that the next request answers)
-- rules: tracelab: the stamp before is that of the event before, steps in the order of the file; tracestat: the latest
--   stamp so far, and the results that were still to come, so that nothing runs while one waits
-- invariants: seconds > 0; by rule tracestat the waits of kind message do not overlap within a session
CREATE OR REPLACE TEMP TABLE session_waits AS
WITH stamp AS (
    SELECT s.rule, s.session_pk, s.round_pk, s.place, e.event_index, e.event_type, e."timestamp" AS stamp_at,
        CASE WHEN s.rule = 'tracelab' OR c.result_at IS NULL THEN e."timestamp" ELSE c.result_at END AS busy_until
    FROM session_steps AS s
    JOIN timing_events AS e ON e.round_pk = s.round_pk
    LEFT JOIN tool_calls AS c
        ON e.event_type = 'tool_call' AND c.round_pk = e.round_pk AND c.tool_index = e.tool_index
    WHERE e."timestamp" IS NOT NULL
),
gap AS (
    SELECT rule, session_pk, round_pk, event_type, stamp_at,
        lag(stamp_at) OVER (PARTITION BY session_pk ORDER BY place, stamp_at, event_index) AS began_at
    FROM stamp WHERE rule = 'tracelab'
    UNION ALL
    SELECT rule, session_pk, round_pk, event_type, stamp_at,
        max(busy_until) OVER (PARTITION BY session_pk ORDER BY stamp_at, place, event_index
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS began_at
    FROM stamp WHERE rule = 'tracestat'
)
SELECT rule, 'message' AS kind, session_pk, round_pk, began_at, stamp_at AS until,
    date_diff('microsecond', began_at, stamp_at) / 1e6 AS seconds
FROM gap
WHERE event_type = 'user_message' AND began_at < stamp_at
UNION ALL
SELECT rule, 'output' AS kind, session_pk, round_pk, before_output, trigger_at,
    date_diff('microsecond', before_output, trigger_at) / 1e6
FROM session_steps
WHERE before_output < trigger_at
