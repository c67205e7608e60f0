-- grain: one row per latency bin [lo_ms, hi_ms) of TraceLab's published shares
-- keys: lo_ms
-- columns: tool_calls, total_latency_ms, and both as shares of all calls with a positive effective latency
-- invariants: the shares sum to one
-- parameters: label, lo, hi (lists; the last hi is null)
WITH bin AS (
    SELECT unnest($label) AS label, unnest($lo) AS lo_ms, unnest($hi) AS hi_ms
),
latency AS (
    SELECT coalesce(tool_internal_latency_ms, tool_wall_latency_ms) AS ms
    FROM tool_calls
    WHERE result_at IS NOT NULL AND coalesce(tool_internal_latency_ms, tool_wall_latency_ms) > 0
)
SELECT
    label, lo_ms, hi_ms, count(ms) AS tool_calls, coalesce(sum(ms), 0) AS total_latency_ms,
    coalesce(sum(ms), 0) / nullif((SELECT sum(ms) FROM latency), 0) AS latency_share,
    count(ms) / nullif((SELECT count(*) FROM latency), 0) AS call_share
FROM bin LEFT JOIN latency ON ms >= lo_ms AND (hi_ms IS NULL OR ms < hi_ms)
GROUP BY label, lo_ms, hi_ms
ORDER BY lo_ms
