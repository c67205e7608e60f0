-- grain: one row per (rule, compaction): a step whose context is far below that of the step before, and stays there
-- keys: rule, round_pk
-- columns: dropped_tokens, trigger (first_input_event_type of the step)
-- rules: the context fell by at least $drop tokens, from at least $near of the session's largest, and none of the next
--   $steps steps (at least one is there) is back at $back of it; only steps that answer a message or a result
-- invariants: at most one row per step; never the first or the last step of a session
-- parameters: drop, near, back, steps
CREATE OR REPLACE TEMP TABLE session_compactions AS
WITH sized AS (
    SELECT rule, session_pk, round_pk, place, first_input_event_type AS "trigger",
        coalesce(prefix_tokens, 0) + coalesce(append_tokens, 0) AS tokens
    FROM session_steps
),
beside AS (
    SELECT *, lag(tokens) OVER of_session AS before_tokens, max(tokens) OVER (PARTITION BY rule, session_pk) AS largest
    FROM sized
    WINDOW of_session AS (PARTITION BY rule, session_pk ORDER BY place)
),
fallen AS (
    SELECT * FROM beside
    WHERE before_tokens - tokens >= $drop AND before_tokens >= $near * largest AND largest > 0
        AND "trigger" IN ('user_message', 'tool_result')
),
following AS (
    SELECT f.rule, f.round_pk, max(b.tokens) AS tokens_after
    FROM fallen AS f JOIN sized AS b
        ON b.rule = f.rule AND b.session_pk = f.session_pk AND b.place > f.place AND b.place <= f.place + $steps
    GROUP BY f.rule, f.round_pk
)
SELECT f.rule, f.session_pk, f.round_pk, f."trigger", f.before_tokens - f.tokens AS dropped_tokens
FROM fallen AS f JOIN following AS n ON n.rule = f.rule AND n.round_pk = f.round_pk
WHERE n.tokens_after < $back * f.before_tokens
