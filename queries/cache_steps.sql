-- grain: one row per (rule, step): what a prefix cache served, and how long it lay idle before
-- keys: rule, round_pk
-- columns: who; trigger (user_message, tool_result, or null), tokens = prefix + append; growth, of the prompt over that
--   of the step before (never negative), before_output_tokens; fresh_tokens, growth less that output, within [0,
--   append]; cacheable_tokens, the rest; idle_seconds before the step; covered: the time-out sweep takes it
-- rules: tracelab: a user step waits from the last stamp of the step before to its own first stamp, a tool step as long
--   as the longest of the leading results took that earlier steps asked for; the step before by round_index.
--   tracestat: from the model's last output to the last input of the step; steps without tokens are left out
-- invariants: fresh_tokens + cacheable_tokens = tokens; idle_seconds >= 0 or null; covered steps have a step before them
CREATE OR REPLACE TEMP TABLE cache_steps AS
WITH walked AS (
    SELECT *, lag(coalesce(prefix_tokens, 0) + coalesce(append_tokens, 0)) OVER of_session AS walk_tokens,
        lag(coalesce(output_tokens, 0)) OVER of_session AS walk_output_tokens,
        lag(last_activity) OVER of_session AS walk_activity
    FROM session_steps
    WINDOW of_session AS (PARTITION BY rule, session_pk ORDER BY walk)
),
-- the results that a step begins with
listed_until AS (
    SELECT round_pk, min(event_index) AS first_other
    FROM timing_events
    WHERE event_type <> 'tool_result'
    GROUP BY round_pk
),
first_results AS (
    SELECT DISTINCT s.session_pk, s.round_pk, s.walk, e.tool_call_id
    FROM session_steps AS s
    JOIN timing_events AS e ON e.round_pk = s.round_pk
    LEFT JOIN listed_until AS u ON u.round_pk = e.round_pk
    WHERE s.rule = 'tracelab' AND s.first_type = 'tool_result' AND e.event_type = 'tool_result'
        AND e.tool_call_id <> '' AND e.event_index < coalesce(u.first_other, 9223372036854775807)
),
asked_for AS (
    SELECT s.session_pk, s.walk, c.tool_index, c.tool_call_id,
        date_diff('microsecond', c.emitted_at, c.result_at) / 1e6 AS seconds
    FROM session_steps AS s JOIN tool_calls AS c ON c.round_pk = s.round_pk
    WHERE s.rule = 'tracelab'
),
-- an id that a session repeats means the latest call before the step
answered AS (
    SELECT l.round_pk, a.seconds
    FROM first_results AS l JOIN asked_for AS a
        ON a.session_pk = l.session_pk AND a.tool_call_id = l.tool_call_id AND a.walk < l.walk
    QUALIFY row_number() OVER (PARTITION BY l.round_pk, l.tool_call_id ORDER BY a.walk DESC, a.tool_index DESC) = 1
),
tool_idle AS (
    SELECT round_pk, max(seconds) FILTER (WHERE seconds >= 0) AS seconds FROM answered GROUP BY round_pk
),
idle AS (
    SELECT w.*, coalesce(w.prefix_tokens, 0) + coalesce(w.append_tokens, 0) AS tokens,
        CASE WHEN w.rule = 'tracestat' AND w.before_output <= w.input_at
                THEN date_diff('microsecond', w.before_output, w.input_at) / 1e6
             WHEN w.rule = 'tracelab' AND w.first_type = 'tool_result' THEN t.seconds
             WHEN w.rule = 'tracelab' AND w.first_type = 'user_message' AND w.walk_activity <= w.first_activity
                THEN date_diff('microsecond', w.walk_activity, w.first_activity) / 1e6 END AS idle_seconds,
        CASE WHEN w.rule = 'tracelab' THEN w.walk_tokens ELSE w.before_tokens END AS paired_tokens,
        CASE WHEN w.rule = 'tracelab' THEN w.walk_output_tokens ELSE w.before_output_tokens END AS paired_output
    FROM walked AS w LEFT JOIN tool_idle AS t ON t.round_pk = w.round_pk AND w.rule = 'tracelab'
    WHERE w.rule = 'tracelab' OR w.prefix_tokens + w.append_tokens > 0
),
split AS (
    SELECT *, greatest(0, tokens - before_tokens) AS growth,
        greatest(0, least(coalesce(append_tokens, 0), greatest(0, tokens - coalesce(paired_tokens, 0)) - coalesce(paired_output, 0)))
            AS fresh_tokens
    FROM idle
)
SELECT rule, round_pk, session_pk, pooled, provider, developer, project, session, started_at,
    CASE WHEN "trigger" IN ('user_message', 'tool_result') THEN "trigger" END AS "trigger", has_before,
    coalesce(prefix_tokens, 0) AS prefix_tokens, coalesce(append_tokens, 0) AS append_tokens, output_tokens, tokens,
    growth, before_output_tokens, fresh_tokens,
    tokens - fresh_tokens AS cacheable_tokens, idle_seconds,
    idle_seconds IS NOT NULL AND has_before AND tokens > 0 AND "trigger" IN ('user_message', 'tool_result') AS covered
FROM split
