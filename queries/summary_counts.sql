-- grain: one row per ({keys}, row_kind, end_kind)
-- keys: {keys}, row_kind, end_kind
-- columns: rows, seconds and token_seconds summed, mixed (rows whose calls have different keys)
-- sums are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: rows sums to the rows of the unit's table that take part, human and background ones included
SELECT
    {keys}, row_kind, end_kind, count(*) AS "rows", sum(CAST(round(seconds * 1e6) AS BIGINT)) / 1e6 AS seconds,
    coalesce(sum(CAST(round(seconds * 1e6) AS HUGEINT) * context_tokens), 0) / 1e6 AS token_seconds, count(*) FILTER (WHERE mixed_key) AS mixed
FROM durations
WHERE excluded IS NULL AND {where}
GROUP BY ALL
ORDER BY row_kind, end_kind
