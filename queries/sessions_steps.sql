-- grain: one row per (rule, round): a step of a session, by TraceLab's rules and by ours
-- keys: rule, round_pk
-- columns: whose step it is (provider, developer, project of the session's first round; started_at, its first stamp);
--   place, its number in the session; walk, its number in the order of TraceLab's cache analyses; stamps of the step;
--   input_at, the last input before its first output; trigger_at, the last user message before its first output;
--   request, the number of triggers so far; trigger, what it answers (user_message, tool_result); generation_seconds,
--   null unless positive; tool_seconds, the sum of positive effective latencies; tokens; then what the step before had
-- rules: tracelab: a session is a session_id, its steps in the order of the file, copies kept; the trigger is the type
--   of the first listed event. tracestat: a session is (provider, developer, session_id), its steps by round_index,
--   copies dropped; results count as input when their call says that they came, and the trigger is the last input
-- invariants: every round with a session_id is there once by rule tracelab, and at most once by rule tracestat; a copy
--   repeats id, first and last stamp of an earlier round of its provider
CREATE OR REPLACE TEMP TABLE session_steps AS
WITH stamps AS (
    SELECT round_pk,
        min("timestamp") AS first_stamp, max("timestamp") AS last_stamp,
        arg_min("timestamp", event_index) FILTER (WHERE "timestamp" IS NOT NULL) AS first_listed,
        max(event_type) FILTER (WHERE event_index = 1) AS first_type,
        min("timestamp") FILTER (WHERE event_type IN ('text', 'reasoning', 'tool_call')) AS first_output,
        max("timestamp") FILTER (WHERE event_type IN ('text', 'reasoning', 'tool_call')) AS last_output
    FROM timing_events
    GROUP BY round_pk
),
inputs AS (
    SELECT e.round_pk, max(e."timestamp") AS last_input,
        max(e."timestamp") FILTER (WHERE e.event_type = 'user_message') AS trigger_at
    FROM timing_events AS e JOIN stamps AS s ON s.round_pk = e.round_pk
    WHERE e.event_type IN ('user_message', 'tool_result') AND e."timestamp" <= s.first_output
    GROUP BY e.round_pk
),
called AS (
    SELECT round_pk, count(*) AS n_calls, min(emitted_at) AS first_emitted, min(result_at) AS first_result,
        max(emitted_at) AS last_emitted, max(result_at) AS last_result,
        sum(coalesce(tool_internal_latency_ms, tool_wall_latency_ms))
            FILTER (WHERE coalesce(tool_internal_latency_ms, tool_wall_latency_ms) > 0) / 1e3 AS tool_seconds
    FROM tool_calls
    GROUP BY round_pk
),
-- sessions are numbered once, so that what follows sorts numbers
by_id AS (
    SELECT session_id, min(round_pk) AS session_pk, arg_min(provider, round_pk) AS provider,
        arg_min("user", round_pk) AS developer, arg_min(project, round_pk) AS project
    FROM rounds
    WHERE session_id <> ''
    GROUP BY session_id
),
by_developer AS (
    SELECT provider, "user" AS developer, session_id, min(round_pk) AS session_pk,
        arg_min(project, round_pk) AS project
    FROM rounds
    WHERE session_id <> ''
    GROUP BY provider, "user", session_id
),
marked AS (
    SELECT r.round_pk, hash(r.provider, r.round_id, e.first_stamp, e.last_stamp) AS mark
    FROM rounds AS r JOIN stamps AS e ON e.round_pk = r.round_pk
    WHERE r.session_id <> '' AND r.round_id IS NOT NULL AND e.last_stamp IS NOT NULL
),
-- few rounds have a copy: counting all and joining these is faster than a window with a part per round
copied AS (
    SELECT mark, min(round_pk) AS first_pk
    FROM marked
    GROUP BY mark
    HAVING count(*) > 1
),
copies AS (
    SELECT m.round_pk
    FROM marked AS m JOIN copied AS c ON c.mark = m.mark
    WHERE m.round_pk > c.first_pk
),
step AS (
    SELECT r.round_pk, r.round_index, r.session_id AS session, t.session_pk AS id_pk, d.session_pk AS developer_pk,
        t.provider AS id_provider, t.developer AS id_developer, t.project AS id_project, d.provider, d.developer,
        d.project, r.first_input_event_type,
        -- the sum of two counts of a damaged trace may not fit into a BIGINT
        CAST(r.prefix_tokens AS HUGEINT) AS prefix_tokens, CAST(r.newly_append_tokens AS HUGEINT) AS append_tokens,
        CAST(r.output_tokens AS HUGEINT) AS output_tokens,
        e.first_type, e.first_stamp, e.last_stamp, e.first_output, e.last_output, i.last_input, i.trigger_at,
        coalesce(e.first_listed, least(c.first_emitted, c.first_result)) AS first_activity,
        greatest(e.last_stamp, c.last_emitted, c.last_result) AS last_activity,
        c.last_result, coalesce(c.n_calls, 0) AS n_calls, coalesce(c.tool_seconds, 0) AS tool_seconds,
        y.round_pk IS NOT NULL AS is_copy
    FROM rounds AS r
    JOIN by_id AS t ON t.session_id = r.session_id
    JOIN by_developer AS d
        ON d.provider IS NOT DISTINCT FROM r.provider AND d.developer IS NOT DISTINCT FROM r."user"
        AND d.session_id = r.session_id
    LEFT JOIN stamps AS e ON e.round_pk = r.round_pk
    LEFT JOIN inputs AS i ON i.round_pk = r.round_pk
    LEFT JOIN called AS c ON c.round_pk = r.round_pk
    LEFT JOIN copies AS y ON y.round_pk = r.round_pk
),
both_rules AS (
    SELECT 'tracelab' AS rule, * EXCLUDE (id_pk, developer_pk, provider, developer, project, id_provider, id_developer,
            id_project),
        id_pk AS session_pk, id_provider AS provider, id_developer AS developer, id_project AS project,
        round_pk AS ordinal,
        row_number() OVER (PARTITION BY id_pk ORDER BY round_index, first_activity NULLS FIRST, round_pk) AS walk
    FROM step
    UNION ALL BY NAME
    SELECT 'tracestat' AS rule, * EXCLUDE (id_pk, developer_pk, id_provider, id_developer, id_project),
        developer_pk AS session_pk, round_index * 1099511627776 + round_pk AS ordinal, NULL AS walk
    FROM step
    WHERE NOT is_copy
),
placed AS (
    SELECT *, min(first_stamp) OVER (PARTITION BY rule, session_pk) AS started_at,
        row_number() OVER of_session AS place,
        count(trigger_at) OVER (PARTITION BY rule, session_pk ORDER BY ordinal
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS request,
        lag(last_result) OVER of_session AS before_result,
        lag(last_output IGNORE NULLS) OVER of_session AS before_output,
        coalesce(lag(coalesce(prefix_tokens, 0) + coalesce(append_tokens, 0)) OVER of_session, 0) AS before_tokens,
        coalesce(lag(output_tokens) OVER of_session, 0) AS before_output_tokens
    FROM both_rules
    WINDOW of_session AS (PARTITION BY rule, session_pk ORDER BY ordinal)
),
begun AS (
    SELECT *,
        CASE WHEN rule = 'tracelab' OR before_result > first_output THEN last_input
             ELSE greatest(last_input, before_result) END AS input_at
    FROM placed
)
SELECT rule, round_pk, session_pk, provider, developer, project, session, started_at, TRUE AS pooled, round_index, place,
    coalesce(walk, place) AS walk, request, first_stamp, last_stamp, first_activity, last_activity, first_output,
    last_output, input_at, trigger_at, n_calls, last_result, tool_seconds, first_input_event_type, first_type,
    CASE WHEN rule = 'tracelab' THEN first_type WHEN trigger_at = input_at THEN 'user_message'
         WHEN input_at IS NOT NULL THEN 'tool_result' END AS "trigger",
    CASE WHEN input_at < last_output THEN date_diff('microsecond', input_at, last_output) / 1e6 END
        AS generation_seconds,
    prefix_tokens, append_tokens, output_tokens, before_output, place > 1 AS has_before, before_tokens,
    before_output_tokens
FROM begun
