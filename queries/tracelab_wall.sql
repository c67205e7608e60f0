-- grain: one row per provider: wall clock of the calls with a result, milliseconds
-- keys: provider
-- columns: n, sum, interpolated percentiles
-- invariants: zeros and copies are kept, as in the published figures
SELECT
    provider, count(tool_wall_latency_ms) AS n, sum(tool_wall_latency_ms) AS "sum",
    quantile_cont(tool_wall_latency_ms, 0.5) AS p50, quantile_cont(tool_wall_latency_ms, 0.9) AS p90,
    quantile_cont(tool_wall_latency_ms, 0.99) AS p99
FROM tool_calls JOIN rounds USING (round_pk)
GROUP BY provider
ORDER BY provider
