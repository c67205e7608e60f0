-- grain: one row per tool call
-- keys: call_pk, its position in tool_calls (rowid + 1)
-- columns: who, what, when, how long (seconds = wall clock, may be negative: nothing is lost here, the commands that
--   read durations clamp or exclude and count), how it ended; what the tool runner reported (internal_seconds) and
--   TraceLab's effective latency; then the marks of clocks that cannot be trusted
-- invariants: as many rows as tool_calls; observed is false exactly where no result came; the copies of a round are
--   the copies of its pause
WITH clock AS (
    SELECT r.provider, c.tool_name,
        CASE WHEN count(*) FILTER (WHERE c.result_at > c.emitted_at) > 0
              AND 2 * count(*) FILTER (WHERE c.result_at > c.emitted_at
                    AND (date_diff('microsecond', c.emitted_at, c.result_at) % 1000000 = 0
                    OR epoch_us(c.result_at) % 1000000 = 0))  -- a coarse clock shows where the two ends have two clocks
                >= count(*) FILTER (WHERE c.result_at > c.emitted_at) THEN 1e0 ELSE 1e-3 END AS resolution_seconds,
        CASE WHEN count(*) FILTER (WHERE c.tool_internal_latency_ms > 0) > 0
              AND 2 * count(*) FILTER (WHERE c.tool_internal_latency_ms > 0 AND c.tool_internal_latency_ms % 1000 = 0)
                >= count(*) FILTER (WHERE c.tool_internal_latency_ms > 0)
            THEN 1e0 ELSE 1e-3 END AS internal_resolution_seconds,
        -- more than half of the wall times above 50 ms is what a median above 50 ms says, without sorting
        2 * count(*) FILTER (WHERE date_diff('microsecond', c.emitted_at, c.result_at) > 50000) > count(c.result_at)
            AS is_slow,
        5 * count(*) FILTER (WHERE c.result_at = c.emitted_at) > count(c.result_at) AS wall_zeros,
        5 * count(*) FILTER (WHERE c.tool_internal_latency_ms = 0) > count(c.tool_internal_latency_ms) AS internal_zeros
    FROM tool_calls AS c JOIN rounds AS r USING (round_pk)
    GROUP BY r.provider, c.tool_name
)
SELECT
    p.provider, p.developer, p.session, p.project,
    c.tool_name AS tool, t.tool_class, x.command_class, c.command_skeleton, p.model, p.n_calls, p.mixed_key,
    c.emitted_at AS started_at,
    CASE WHEN c.start_kind IS DISTINCT FROM 'false'
        THEN coalesce(date_diff('microsecond', c.emitted_at, c.result_at) / 1e6,
            greatest(0, date_diff('microsecond', c.emitted_at, p.started_at) / 1e6 + p.seconds)) END AS seconds,
    0e0 AS entry_seconds,
    c.result_at IS NOT NULL AS observed,
    CASE WHEN c.result_at IS NULL THEN p.end_kind
         ELSE CASE c.command_status WHEN 'running' THEN 'deadline' WHEN 'aborted' THEN 'interrupted'
            WHEN 'timeout' THEN 'timeout' WHEN 'refused' THEN 'refused' WHEN 'background' THEN 'background'
            ELSE 'completed' END
         END AS end_kind,
    c.asked_limit_seconds,
    k.resolution_seconds,
    c.tool_internal_latency_ms / 1e3 AS internal_seconds,
    coalesce(c.tool_internal_latency_ms, c.tool_wall_latency_ms) / 1e3 AS effective_seconds,
    p.context_tokens,
    p.is_copy,
    k.internal_resolution_seconds,
    k.is_slow AND k.wall_zeros AS wall_zero_inflated,
    k.is_slow AND k.internal_zeros AS internal_zero_inflated,
    c.permission_mode, c.is_subagent, c.command_fingerprint, c.approval_seconds, p.session_pk, c.round_pk, c.tool_index, c.rowid + 1 AS call_pk
FROM tool_calls AS c
JOIN pauses AS p ON p.round_pk = c.round_pk
LEFT JOIN tool_classes AS t ON t.tool IS NOT DISTINCT FROM c.tool_name
LEFT JOIN command_classes AS x ON x.executables = array_to_string(c.executables, ' ')
LEFT JOIN clock AS k ON k.provider = p.provider AND k.tool_name IS NOT DISTINCT FROM c.tool_name
