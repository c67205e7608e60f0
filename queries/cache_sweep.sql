-- grain: one row per (rule, session, interval between two time-outs): what an ideal cache that evicts a prefix after a
--   time-out would serve
-- keys: rule, session_pk, developer_id, step (index of the first time-out that is not below the idle time)
-- columns: of the covered steps: n, idle_seconds, tokens, prefix_tokens, append_tokens, fresh_tokens, cacheable_tokens;
--   by rule tracelab the time of single calls and of waits after an output, by rule tracestat idle_seconds again:
--   active_idle_seconds; generation_seconds, all of a session on its row of step -1
-- invariants: n sums to the covered steps; generation_seconds is 0 but on step -1, where all else is 0
-- parameters: step, above, at_most (lists: intervals (above, at_most], the last one open)
-- sums of seconds are of whole microseconds, so that they do not depend on the order in which threads add
WITH interval_of AS (
    SELECT unnest($step) AS step, unnest($above) AS above, unnest($at_most) AS at_most
),
chosen AS (
    SELECT rule, session_pk, any_value(provider) AS provider, any_value(developer) AS developer,
        any_value(project) AS project, any_value(session) AS session,
        coalesce(sum(CAST(generation_seconds AS DECIMAL(38, 6))), 0) AS generation_seconds
    FROM session_steps
    WHERE {where}
    GROUP BY rule, session_pk
),
swept AS (
    SELECT c.rule, c.session_pk, i.step, count(*) AS n, sum(CAST(c.idle_seconds AS DECIMAL(38, 6))) AS idle_seconds,
        sum(c.tokens) AS tokens, sum(c.prefix_tokens) AS prefix_tokens, sum(c.append_tokens) AS append_tokens,
        sum(c.fresh_tokens) AS fresh_tokens, sum(c.cacheable_tokens) AS cacheable_tokens,
        coalesce(sum(CAST(c.idle_seconds AS DECIMAL(38, 6))) FILTER (WHERE c.rule = 'tracestat'), 0) AS active_idle_seconds
    FROM cache_steps AS c JOIN interval_of AS i ON c.idle_seconds > i.above AND c.idle_seconds <= i.at_most
    WHERE c.covered
    GROUP BY c.rule, c.session_pk, i.step
),
single AS (
    SELECT s.session_pk, coalesce(c.tool_internal_latency_ms, c.tool_wall_latency_ms) / 1e3 AS seconds
    FROM session_steps AS s JOIN tool_calls AS c ON c.round_pk = s.round_pk
    WHERE s.rule = 'tracelab'
    UNION ALL
    SELECT session_pk, seconds FROM session_waits WHERE rule = 'tracelab' AND kind = 'output'
),
alive AS (
    SELECT 'tracelab' AS rule, w.session_pk, i.step, sum(CAST(w.seconds AS DECIMAL(38, 6))) AS active_idle_seconds
    FROM single AS w JOIN interval_of AS i ON w.seconds > i.above AND w.seconds <= i.at_most
    WHERE w.seconds > 0
    GROUP BY w.session_pk, i.step
),
part AS (
    SELECT rule, session_pk, -1 AS step, 0 AS n, 0 AS idle_seconds, 0 AS tokens, 0 AS prefix_tokens, 0 AS append_tokens,
        0 AS fresh_tokens, 0 AS cacheable_tokens, 0 AS active_idle_seconds, generation_seconds
    FROM chosen
    UNION ALL
    SELECT rule, session_pk, step, n, idle_seconds, tokens, prefix_tokens, append_tokens, fresh_tokens,
        cacheable_tokens, active_idle_seconds, 0
    FROM swept
    UNION ALL
    SELECT rule, session_pk, step, 0, 0, 0, 0, 0, 0, 0, active_idle_seconds, 0 FROM alive
)
SELECT c.rule, c.session_pk, hash(c.developer) AS developer_id, c.provider, c.developer, c.project, c.session, p.step,
    sum(p.n) AS n, CAST(sum(p.idle_seconds) AS DOUBLE) AS idle_seconds, CAST(sum(p.tokens) AS DOUBLE) AS tokens,
    CAST(sum(p.prefix_tokens) AS DOUBLE) AS prefix_tokens, CAST(sum(p.append_tokens) AS DOUBLE) AS append_tokens,
    CAST(sum(p.fresh_tokens) AS DOUBLE) AS fresh_tokens, CAST(sum(p.cacheable_tokens) AS DOUBLE) AS cacheable_tokens,
    CAST(sum(p.active_idle_seconds) AS DOUBLE) AS active_idle_seconds,
    CAST(sum(p.generation_seconds) AS DOUBLE) AS generation_seconds
FROM part AS p JOIN chosen AS c ON c.rule = p.rule AND c.session_pk = p.session_pk
GROUP BY ALL
ORDER BY c.rule, c.session_pk, p.step
