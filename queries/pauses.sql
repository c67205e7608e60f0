-- grain: one row per round (one model request) with at least one tool call
-- keys: round_pk; a session is (provider, developer, session), numbered by session_pk = its smallest round_pk
-- columns: who, what, when, how long (seconds), how it ended; then busy_seconds, longest_seconds, sum_seconds; then
--   what came back last, for description only: it looks into the future and no forecast or policy may use it
-- invariants: seconds >= 0; one row per round_pk; observed is false exactly for end kinds lost and open;
--   busy_seconds <= seconds; among the rows with equal (provider, smallest call id, n_calls, last output, last result)
--   exactly one has is_copy = false
WITH call AS (
    SELECT
        c.round_pk, c.tool_index, c.tool_name, c.tool_call_id, c.emitted_at, c.result_at, c.command_status,
        c.command_skeleton, c.tool_wall_latency_ms, c.asked_limit_seconds, c.approval_seconds, c.permission_mode,
        c.is_subagent, array_to_string(c.executables, ' ') AS executables, t.tool_class, t.class_rank, x.command_class
    FROM tool_calls AS c
    LEFT JOIN tool_classes AS t ON t.tool IS NOT DISTINCT FROM c.tool_name
    LEFT JOIN command_classes AS x ON x.executables = array_to_string(c.executables, ' ')
),
resolution AS (
    SELECT tool_name, provider,
        CASE WHEN 2 * count(*) FILTER (WHERE tool_wall_latency_ms > 0 AND tool_wall_latency_ms % 1000 = 0)
                >= count(*) FILTER (WHERE tool_wall_latency_ms > 0)
              AND count(*) FILTER (WHERE tool_wall_latency_ms > 0) > 0
             THEN 1e0 ELSE 1e-3 END AS resolution_seconds
    FROM call JOIN rounds USING (round_pk)
    GROUP BY tool_name, provider
),
stamps AS (
    SELECT round_pk,
        max("timestamp") FILTER (WHERE event_type IN ('text', 'reasoning', 'tool_call')) AS last_output,
        min("timestamp") FILTER (WHERE event_type IN ('text', 'reasoning', 'tool_call')) AS first_output,
        max("timestamp") AS last_stamp
    FROM timing_events
    GROUP BY round_pk
),
-- every round of a session in order, so that the next round is known before copies are dropped
session_round AS (
    SELECT r.round_pk, r.provider, r."user" AS developer, r.session_id, r.project, r.model,
        r.input_tokens_total + r.output_tokens AS context_tokens, s.last_output,
        min(r.round_pk) OVER who AS session_pk,
        max(s.last_stamp) OVER who AS session_end,
        lead(s.first_output) OVER (who ORDER BY r.round_index, r.round_pk) AS next_output,
        r.round_index
    FROM rounds AS r LEFT JOIN stamps AS s USING (round_pk)
    WINDOW who AS (PARTITION BY r.provider, r."user", r.session_id)
),
batch AS (
    SELECT round_pk,
        count(*) AS n_calls,
        count(*) - count(result_at) AS n_without_result,
        min(tool_call_id) AS first_call_id,
        max(emitted_at) AS last_emitted,
        max(result_at) AS last_result,
        min(CAST(class_rank AS BIGINT) * 1000000 + tool_index) AS key_order,
        min(hash(tool_name, command_skeleton)) <> max(hash(tool_name, command_skeleton)) AS mixed_key,
        sum(date_diff('microsecond', emitted_at, result_at)) / 1e6 AS sum_seconds,
        max(date_diff('microsecond', emitted_at, result_at)) / 1e6 AS longest_seconds
    FROM call
    GROUP BY round_pk
),
key_call AS (
    SELECT c.* FROM call AS c JOIN batch AS b
    ON c.round_pk = b.round_pk AND CAST(c.class_rank AS BIGINT) * 1000000 + c.tool_index = b.key_order
    QUALIFY row_number() OVER (PARTITION BY c.round_pk ORDER BY c.emitted_at, c.tool_call_id) = 1
),
last_call AS (
    SELECT c.* FROM call AS c JOIN batch AS b ON c.round_pk = b.round_pk AND c.result_at = b.last_result
    -- the results of a batch may carry one stamp: then a yield is what held them back
    QUALIFY row_number() OVER (PARTITION BY c.round_pk
        ORDER BY (c.command_status IS NOT DISTINCT FROM 'running') DESC, c.tool_index DESC, c.tool_call_id) = 1
),
pause AS (
    SELECT s.*, b.*, coalesce(s.last_output, b.last_emitted) AS out_at,
        b.n_without_result = 0 AND s.next_output < b.last_result
            AND s.next_output >= coalesce(s.last_output, b.last_emitted) AS superseded
    FROM batch AS b JOIN session_round AS s USING (round_pk)
),
-- a pause without all its results is censored at the next stamp of a later round of its session; results do not
-- count, since those of its other calls are listed there too
next_stamp AS (
    SELECT p.round_pk, min(e."timestamp") AS next_at
    FROM pause AS p
    JOIN session_round AS s ON s.session_pk = p.session_pk
        AND (s.round_index > p.round_index OR (s.round_index = p.round_index AND s.round_pk > p.round_pk))
    JOIN timing_events AS e ON e.round_pk = s.round_pk AND e."timestamp" >= p.out_at
        AND e.event_type <> 'tool_result'
    WHERE p.n_without_result > 0
    GROUP BY p.round_pk
),
-- what happened between the last output and the last result: the union of the calls, cut at the last output
piece AS (
    SELECT c.round_pk, greatest(c.emitted_at, p.out_at) AS a, c.result_at AS b,
        max(c.result_at) OVER (PARTITION BY c.round_pk ORDER BY c.emitted_at, c.result_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach
    FROM call AS c JOIN pause AS p USING (round_pk)
    WHERE c.result_at > p.out_at
),
busy AS (
    SELECT round_pk,
        sum(greatest(0, date_diff('microsecond', greatest(a, coalesce(reach, a)), b))) / 1e6 AS busy_seconds
    FROM piece
    GROUP BY round_pk
),
ended AS (
    SELECT p.*,
        CASE WHEN p.n_without_result > 0 AND n.next_at IS NOT NULL THEN 'lost'
             WHEN p.n_without_result > 0 THEN 'open'
             WHEN p.superseded THEN 'superseded'
             WHEN l.command_status = 'running' THEN 'deadline'
             WHEN l.command_status = 'aborted' THEN 'interrupted'
             ELSE 'completed' END AS end_kind,
        CASE WHEN p.n_without_result > 0 THEN coalesce(n.next_at, greatest(p.session_end, p.out_at))
             WHEN p.superseded THEN p.next_output
             ELSE greatest(p.last_result, p.out_at) END AS end_at,
        l.tool_class AS last_class, l.tool_name AS last_tool, l.command_skeleton AS last_skeleton
    FROM pause AS p
    LEFT JOIN next_stamp AS n USING (round_pk)
    LEFT JOIN last_call AS l USING (round_pk)
)
SELECT
    e.provider, e.developer, e.session_id AS session, e.project,
    k.tool_name AS tool, k.tool_class, k.command_class, k.command_skeleton, e.model, e.n_calls, e.mixed_key,
    e.out_at AS started_at,
    date_diff('microsecond', e.out_at, e.end_at) / 1e6 AS seconds,
    0e0 AS entry_seconds,
    e.end_kind NOT IN ('lost', 'open') AS observed,
    e.end_kind,
    k.asked_limit_seconds,
    r.resolution_seconds,
    CAST(NULL AS DOUBLE) AS internal_seconds,
    CAST(NULL AS DOUBLE) AS effective_seconds,
    e.context_tokens,
    row_number() OVER (
        PARTITION BY e.provider, e.first_call_id, e.n_calls, e.out_at, e.last_result ORDER BY e.round_pk) > 1 AS is_copy,
    least(coalesce(b.busy_seconds, 0), date_diff('microsecond', e.out_at, e.end_at) / 1e6) AS busy_seconds,
    e.longest_seconds, e.sum_seconds,
    e.last_class AS last_returned_class, e.last_tool AS last_returned_tool,
    e.last_skeleton AS last_returned_skeleton,
    k.executables, k.permission_mode, k.is_subagent, e.session_pk, e.round_pk
FROM ended AS e
JOIN key_call AS k USING (round_pk)
LEFT JOIN resolution AS r ON r.provider = e.provider AND r.tool_name IS NOT DISTINCT FROM k.tool_name
LEFT JOIN busy AS b USING (round_pk)
