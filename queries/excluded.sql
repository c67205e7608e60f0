-- grain: one row per (keys, reason, row_kind): how many rows take no part, and why
-- keys: {keys}, excluded, row_kind
-- columns: rows, skewed (rows whose duration was in [-0.1, 0) and counts as zero)
-- invariants: sums to the rows of the unit's table within {where}; counts only
SELECT
    {keys}, coalesce(excluded, '') AS excluded, row_kind, count(*) AS "rows", count(*) FILTER (WHERE skewed) AS skewed
FROM durations
WHERE {where}
GROUP BY ALL
ORDER BY ALL
