-- grain: one row per ({keys}, row_kind, end_kind)
-- keys: {keys}, row_kind, end_kind
-- columns: rows, seconds and token_seconds summed, mixed (rows whose calls have different keys)
-- invariants: rows sums to the rows of the unit's table that take part, human and background ones included
SELECT
    {keys}, row_kind, end_kind, count(*) AS "rows", sum(seconds) AS seconds,
    coalesce(sum(seconds * context_tokens), 0) AS token_seconds, count(*) FILTER (WHERE mixed_key) AS mixed
FROM durations
WHERE excluded IS NULL AND {where}
GROUP BY ALL
