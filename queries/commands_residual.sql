-- grain: one row per (rule, call that has both clocks): how much longer it took than its runner reported
-- keys: rule, call_pk
-- columns: who; tool; wall_seconds, internal_seconds, residual_seconds = their difference, never below 0
-- rules: tracelab: Codex alone. tracestat: every provider; copies dropped; calls whose log does not show their start
--   are left out
-- invariants: wall_seconds > 0, internal_seconds >= 0
CREATE OR REPLACE TEMP TABLE timed_twice AS
SELECT s.rule, s.session_pk, s.pooled, s.provider, s.developer, s.project, s.session, s.started_at,
    c.rowid + 1 AS call_pk, c.tool_name AS tool, c.tool_wall_latency_ms / 1e3 AS wall_seconds,
    c.tool_internal_latency_ms / 1e3 AS internal_seconds,
    greatest(c.tool_wall_latency_ms - c.tool_internal_latency_ms, 0) / 1e3 AS residual_seconds
FROM session_steps AS s JOIN tool_calls AS c ON c.round_pk = s.round_pk
WHERE c.tool_wall_latency_ms > 0 AND c.tool_internal_latency_ms >= 0
    AND CASE WHEN s.rule = 'tracelab' THEN s.provider = 'codex' ELSE c.start_kind IS DISTINCT FROM 'false' END
