-- grain: one row per (atom, provider, tool): how much longer calls lasted than their tool says
-- keys: atom, provider_of, tool_of
-- columns: n, overhead_seconds (median of wall less internal time)
-- invariants: calls whose wall time lies in the atom and whose tool reports a time above 0; a reported 0 says nothing
-- parameters: atom, low, high (lists, windows [low, high))
WITH window_of AS (
    SELECT unnest($atom) AS atom, unnest($low) AS low, unnest($high) AS high
)
SELECT w.atom, c.provider AS provider_of, c.tool AS tool_of, count(*) AS n,
    median(c.seconds - c.internal_seconds) AS overhead_seconds
FROM calls AS c JOIN window_of AS w ON c.seconds >= w.low AND c.seconds < w.high
WHERE NOT c.is_copy AND c.observed AND c.internal_seconds > 0 AND c.internal_seconds <= c.seconds
GROUP BY ALL
ORDER BY atom, provider_of, tool_of
