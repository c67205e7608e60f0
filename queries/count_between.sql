-- grain: one row per ({keys}): how many ends are known to an interval only
-- keys: {keys}
-- columns: n_between (rows that ended somewhere in (ended_after, seconds])
-- invariants: keys without such a row are left out
-- parameters: rows
SELECT {keys}, count(*) AS n_between
FROM durations
WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND ended_after IS NOT NULL AND {where}
GROUP BY ALL
