-- grain: one row per round (one model request) with at least one tool call
-- keys: round_pk; key_call_pk names the call whose key it has; a session is (provider, developer, session), numbered by session_pk = its smallest round_pk
-- columns: who, what, when, how long (seconds), how it ended; then busy_seconds, longest_seconds, sum_seconds; then
--   what came back last, for description only: it looks into the future and no forecast or policy may use it
-- invariants: seconds >= 0, null where the log stamps all calls of the round at their end only; one row per round_pk; observed is false exactly for end kinds lost and open;
--   busy_seconds <= seconds; among the rows with equal (provider, smallest call id by hash, n_calls, last output,
--   last result) exactly one has is_copy = false
WITH session_of AS (
    SELECT provider, "user" AS developer, session_id, min(round_pk) AS session_pk
    FROM rounds
    GROUP BY ALL
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
    SELECT r.round_pk, r.round_index, s.session_pk, s.provider, e.last_output,
        lead(e.first_output) OVER (PARTITION BY s.session_pk ORDER BY r.round_index, r.round_pk) AS next_output,
        max(e.last_stamp) OVER (PARTITION BY s.session_pk) AS session_end
    FROM rounds AS r
    JOIN session_of AS s
        ON s.provider = r.provider AND s.session_id = r.session_id AND s.developer IS NOT DISTINCT FROM r."user"
    LEFT JOIN stamps AS e ON e.round_pk = r.round_pk
),
-- a call is named by its row in tool_calls; where it stands among the calls of its round is packed with that row into
-- one number, so that the first of several is a plain minimum
call AS NOT MATERIALIZED (
    SELECT c.round_pk, c.rowid AS call_row, c.tool_index, c.emitted_at, c.result_at, c.command_status, c.start_kind,
        c.approval_seconds,
        hash(c.tool_call_id) AS call_hash, hash(c.tool_name, c.command_skeleton) AS key_hash,
        (least(t.class_rank, 14) * 1048576 + least(greatest(c.tool_index, 0), 1048575)) * 549755813888 + c.rowid AS place
    FROM tool_calls AS c LEFT JOIN tool_classes AS t ON t.tool IS NOT DISTINCT FROM c.tool_name
),
batch AS (
    SELECT round_pk,
        count(*) AS n_calls,
        count(*) - count(result_at) AS n_without_result,
        min(call_hash) AS call_hash,
        min(emitted_at) AS first_emitted,
        max(emitted_at) AS last_emitted,
        max(result_at) AS last_result,
        min(key_hash) <> max(key_hash) AS mixed_key,
        sum(date_diff('microsecond', emitted_at, result_at)) / 1e6 AS sum_seconds,
        max(date_diff('microsecond', emitted_at, result_at)) / 1e6 AS longest_seconds,
        bool_and(start_kind IS NOT DISTINCT FROM 'false') AS no_start,
        max(approval_seconds) AS approval_seconds,
        min(place) % 549755813888 AS key_row
    FROM call
    GROUP BY round_pk
),
-- the results of a batch may carry one stamp: then a yield is what held them back
last_row_of_several AS (
    SELECT c.round_pk,
        max((CASE WHEN c.command_status = 'running' THEN 1048576 ELSE 0 END + least(greatest(c.tool_index, 0), 1048575))
            * 549755813888 + c.call_row) % 549755813888 AS last_row
    FROM call AS c JOIN batch AS b ON b.round_pk = c.round_pk AND c.result_at = b.last_result
    WHERE b.n_calls > 1
    GROUP BY c.round_pk
),
last_of_several AS (
    SELECT r.round_pk, c.tool_name, c.command_skeleton, c.command_status
    FROM last_row_of_several AS r JOIN tool_calls AS c ON c.rowid = r.last_row
),
pause AS (
    SELECT s.session_pk, s.provider, s.round_index, s.session_end, s.next_output, b.*,
        coalesce(s.last_output, b.last_emitted) AS out_at,
        b.n_without_result = 0 AND s.next_output < b.last_result
            AND s.next_output >= coalesce(s.last_output, b.last_emitted) AS superseded
    FROM batch AS b JOIN session_round AS s ON s.round_pk = b.round_pk
),
-- a pause without all its results is censored at the next stamp of a later round of its session; results do not
-- count, since those of its other calls are listed there too
later_round AS MATERIALIZED (
    SELECT p.round_pk AS lost_pk, p.out_at, s.round_pk
    FROM pause AS p
    JOIN session_round AS s ON s.session_pk = p.session_pk
        AND (s.round_index > p.round_index OR (s.round_index = p.round_index AND s.round_pk > p.round_pk))
    WHERE p.n_without_result > 0
),
next_stamp AS (
    SELECT r.lost_pk AS round_pk, min(e."timestamp") AS next_at
    FROM later_round AS r JOIN timing_events AS e ON e.round_pk = r.round_pk AND e."timestamp" >= r.out_at
    WHERE e.event_type <> 'tool_result'
    GROUP BY r.lost_pk
),
-- several calls: the union of their intervals, cut at the last output
piece AS (
    SELECT c.round_pk, greatest(c.emitted_at, p.out_at) AS a, c.result_at AS b,
        max(c.result_at) OVER (PARTITION BY c.round_pk ORDER BY c.emitted_at, c.result_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach
    FROM tool_calls AS c JOIN pause AS p USING (round_pk)
    WHERE p.n_calls > 1 AND c.result_at > p.out_at
),
busy AS (
    SELECT round_pk,
        sum(greatest(0, date_diff('microsecond', greatest(a, coalesce(reach, a)), b))) / 1e6 AS busy_seconds
    FROM piece
    GROUP BY round_pk
),
-- resumed and forked sessions repeat earlier rounds with the same ids and stamps
repeated AS (
    SELECT call_hash FROM pause GROUP BY call_hash HAVING count(*) > 1
),
copied AS (
    SELECT provider, call_hash, n_calls, out_at, last_result, min(round_pk) AS original_pk
    FROM pause
    WHERE call_hash IN (SELECT call_hash FROM repeated)
    GROUP BY ALL
    HAVING count(*) > 1
),
resolution AS (
    SELECT r.provider, c.tool_name,
        CASE WHEN count(*) FILTER (WHERE c.tool_wall_latency_ms > 0) > 0
              AND 2 * count(*) FILTER (WHERE c.tool_wall_latency_ms > 0 AND (c.tool_wall_latency_ms % 1000 = 0
                    OR epoch_us(c.result_at) % 1000000 = 0))  -- a coarse clock shows where the two ends have two clocks
                >= count(*) FILTER (WHERE c.tool_wall_latency_ms > 0) THEN 1e0 ELSE 1e-3 END AS resolution_seconds
    FROM tool_calls AS c JOIN rounds AS r USING (round_pk)
    GROUP BY r.provider, c.tool_name
),
ended AS (
    SELECT p.*, b.busy_seconds, k.tool_name, k.command_skeleton, k.executables, k.asked_limit_seconds,
        k.permission_mode, k.is_subagent, k.command_fingerprint,
        CASE WHEN p.n_calls > 1 THEN l.tool_name WHEN p.n_without_result = 0 THEN k.tool_name END AS last_tool,
        CASE WHEN p.n_calls > 1 THEN l.command_skeleton WHEN p.n_without_result = 0 THEN k.command_skeleton END
            AS last_skeleton,
        p.n_calls = 1 AND p.n_without_result = 0 OR l.round_pk IS NOT NULL AS has_last,
        CASE WHEN p.n_without_result > 0 AND n.next_at IS NOT NULL THEN 'lost'
             WHEN p.n_without_result > 0 THEN 'open'
             WHEN p.superseded THEN 'superseded'
             ELSE CASE CASE WHEN p.n_calls > 1 THEN l.command_status ELSE k.command_status END
                WHEN 'running' THEN 'deadline' WHEN 'aborted' THEN 'interrupted' WHEN 'timeout' THEN 'timeout'
                WHEN 'refused' THEN 'refused' WHEN 'background' THEN 'background' ELSE 'completed' END
             END AS end_kind,
        CASE WHEN p.n_without_result > 0 THEN coalesce(n.next_at, greatest(p.session_end, p.out_at))
             WHEN p.superseded THEN p.next_output
             ELSE greatest(p.last_result, p.out_at) END AS end_at
    FROM pause AS p
    JOIN tool_calls AS k ON k.rowid = p.key_row
    LEFT JOIN last_of_several AS l ON l.round_pk = p.round_pk
    LEFT JOIN next_stamp AS n ON n.round_pk = p.round_pk
    LEFT JOIN busy AS b ON b.round_pk = p.round_pk
)
SELECT
    s.provider, s.developer, s.session_id AS session, r.project,
    e.tool_name AS tool, t.tool_class, x.command_class, e.command_skeleton, r.model,
    e.n_calls, e.mixed_key,
    e.out_at AS started_at,
    CASE WHEN NOT e.no_start THEN date_diff('microsecond', e.out_at, e.end_at) / 1e6 END AS seconds,
    0e0 AS entry_seconds,
    e.end_kind NOT IN ('lost', 'open') AS observed,
    e.end_kind,
    e.asked_limit_seconds,
    q.resolution_seconds,
    CAST(NULL AS DOUBLE) AS internal_seconds,
    CAST(NULL AS DOUBLE) AS effective_seconds,
    TRY(r.input_tokens_total + r.output_tokens) AS context_tokens,
    c.original_pk IS NOT NULL AND c.original_pk < e.round_pk AS is_copy,
    least(
        CASE WHEN e.n_calls > 1 THEN coalesce(e.busy_seconds, 0)
             ELSE coalesce(greatest(0, date_diff('microsecond', greatest(e.first_emitted, e.out_at), e.last_result)), 0)
                / 1e6 END,
        date_diff('microsecond', e.out_at, e.end_at) / 1e6) AS busy_seconds,
    e.longest_seconds, e.sum_seconds,
    u.tool_class AS last_returned_class, e.last_tool AS last_returned_tool,
    e.last_skeleton AS last_returned_skeleton,
    e.permission_mode, e.is_subagent, e.command_fingerprint, e.approval_seconds, e.session_pk, e.round_pk, e.key_row + 1 AS key_call_pk
FROM ended AS e
JOIN session_of AS s ON s.session_pk = e.session_pk
JOIN rounds AS r ON r.round_pk = e.round_pk
LEFT JOIN tool_classes AS t ON t.tool IS NOT DISTINCT FROM e.tool_name
LEFT JOIN tool_classes AS u ON u.tool IS NOT DISTINCT FROM e.last_tool AND e.has_last
LEFT JOIN command_classes AS x ON x.executables = array_to_string(e.executables, ' ')
LEFT JOIN resolution AS q ON q.provider = s.provider AND q.tool_name IS NOT DISTINCT FROM e.tool_name
LEFT JOIN copied AS c
    ON c.provider = e.provider AND c.call_hash = e.call_hash AND c.n_calls = e.n_calls AND c.out_at = e.out_at
    AND c.last_result IS NOT DISTINCT FROM e.last_result
