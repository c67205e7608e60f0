-- grain: one row per (provider, session, developer, elapsed time)
-- keys: provider, session_pk, developer_id, elapsed
-- columns: n rows that were seen to end later than elapsed seconds, seconds that they lasted beyond it
-- sums are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: n falls as elapsed grows
-- parameters: elapsed (list), rows
WITH mark AS (
    SELECT unnest($elapsed) AS elapsed
)
SELECT
    d.provider, d.session_pk, hash(d.developer) AS developer_id, mark.elapsed, count(*) AS n,
    sum(CAST(round((d.seconds - mark.elapsed) * 1e6) AS HUGEINT)) / 1e6 AS seconds
FROM durations AS d JOIN mark ON d.seconds > mark.elapsed
WHERE d.excluded IS NULL AND d.observed AND ($rows = 'all' OR d.row_kind = $rows)
GROUP BY ALL
ORDER BY d.session_pk, mark.elapsed
