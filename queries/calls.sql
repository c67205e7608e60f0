-- grain: one row per tool call, in the order of the store
-- keys: round_pk, tool_index (not unique where a source repeats an index); call_id = TraceLab's tool_call_id
-- columns: who, what, when, how long (seconds = wall clock, may be negative: nothing is lost here, the commands that
--   read durations clamp or exclude and count), how it ended; what the tool runner reported (internal_seconds) and
--   TraceLab's effective latency; then the marks of clocks that cannot be trusted
-- invariants: as many rows as tool_calls; observed is false exactly where no result came; the copies of a round are
--   the copies of its pause
WITH call AS (
    SELECT c.*, r.provider,
        date_diff('microsecond', c.emitted_at, c.result_at) / 1e6 AS wall_seconds,
        c.tool_internal_latency_ms / 1e3 AS internal_seconds
    FROM tool_calls AS c JOIN rounds AS r USING (round_pk)
),
clock AS (
    SELECT provider, tool_name,
        CASE WHEN count(*) FILTER (WHERE wall_seconds > 0) > 0
              AND 2 * count(*) FILTER (WHERE wall_seconds > 0 AND wall_seconds = floor(wall_seconds))
                >= count(*) FILTER (WHERE wall_seconds > 0) THEN 1e0 ELSE 1e-3 END AS resolution_seconds,
        CASE WHEN count(*) FILTER (WHERE internal_seconds > 0) > 0
              AND 2 * count(*) FILTER (WHERE internal_seconds > 0 AND internal_seconds = floor(internal_seconds))
                >= count(*) FILTER (WHERE internal_seconds > 0) THEN 1e0 ELSE 1e-3 END AS internal_resolution_seconds,
        median(wall_seconds) > 0.05 AND 5 * count(*) FILTER (WHERE wall_seconds = 0) > count(wall_seconds)
            AS wall_zero_inflated,
        median(wall_seconds) > 0.05 AND 5 * count(*) FILTER (WHERE internal_seconds = 0) > count(internal_seconds)
            AS internal_zero_inflated
    FROM call
    GROUP BY provider, tool_name
)
SELECT
    p.provider, p.developer, p.session, p.project,
    c.tool_name AS tool, t.tool_class, x.command_class, c.command_skeleton, p.model, p.n_calls, p.mixed_key,
    c.emitted_at AS started_at,
    coalesce(c.wall_seconds,
        greatest(0, date_diff('microsecond', c.emitted_at, p.started_at) / 1e6 + p.seconds)) AS seconds,
    0e0 AS entry_seconds,
    c.result_at IS NOT NULL AS observed,
    CASE WHEN c.result_at IS NULL THEN p.end_kind
         WHEN c.command_status = 'running' THEN 'deadline'
         WHEN c.command_status = 'aborted' THEN 'interrupted'
         ELSE 'completed' END AS end_kind,
    c.asked_limit_seconds,
    k.resolution_seconds,
    c.internal_seconds,
    coalesce(c.tool_internal_latency_ms, c.tool_wall_latency_ms) / 1e3 AS effective_seconds,
    p.context_tokens,
    p.is_copy,
    k.internal_resolution_seconds,
    coalesce(k.wall_zero_inflated, FALSE) AS wall_zero_inflated,
    coalesce(k.internal_zero_inflated, FALSE) AS internal_zero_inflated,
    array_to_string(c.executables, ' ') AS executables, c.is_error, c.permission_mode, c.is_subagent, c.tool_call_id AS call_id,
    p.session_pk, c.round_pk, c.tool_index
FROM call AS c
JOIN pauses AS p USING (round_pk)
LEFT JOIN tool_classes AS t ON t.tool IS NOT DISTINCT FROM c.tool_name
LEFT JOIN command_classes AS x ON x.executables = array_to_string(c.executables, ' ')
LEFT JOIN clock AS k ON k.provider = p.provider AND k.tool_name IS NOT DISTINCT FROM c.tool_name
