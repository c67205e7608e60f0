-- grain: one row per tool: TraceLab's latency table
-- keys: tool_name
-- columns: calls; latency_count (effective latency > 0), missing_latency, nonpositive_latency, error_calls; mean and
--   interpolated percentiles in milliseconds
-- invariants: latency_count + missing_latency + nonpositive_latency = calls
WITH latency AS (
    SELECT tool_name, is_error, CASE WHEN result_at IS NULL THEN NULL
        ELSE coalesce(tool_internal_latency_ms, tool_wall_latency_ms) END AS ms
    FROM tool_calls
)
SELECT
    tool_name, count(*) AS calls, count(*) FILTER (WHERE ms > 0) AS latency_count,
    count(*) FILTER (WHERE ms IS NULL) AS missing_latency, count(*) FILTER (WHERE ms <= 0) AS nonpositive_latency,
    count(*) FILTER (WHERE is_error) AS error_calls,
    avg(ms) FILTER (WHERE ms > 0) AS mean_ms, quantile_cont(ms, 0.5) FILTER (WHERE ms > 0) AS p50_ms,
    quantile_cont(ms, 0.9) FILTER (WHERE ms > 0) AS p90_ms, quantile_cont(ms, 0.99) FILTER (WHERE ms > 0) AS p99_ms,
    max(ms) FILTER (WHERE ms > 0) AS max_ms
FROM latency
GROUP BY tool_name
ORDER BY calls DESC, tool_name
