-- grain: one row per value of one key
-- keys: {keys}
-- columns: rows
-- invariants: sums to the rows that take part
-- parameters: rows
SELECT {keys}, count(*) AS "rows"
FROM durations
WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
GROUP BY ALL
ORDER BY "rows" DESC, {keys}
