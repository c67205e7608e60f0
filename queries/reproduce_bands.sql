-- grain: one row per (provider, tool, session, developer, band of seconds)
-- keys: provider, tool, session_pk, developer_id, band
-- columns: n, seconds; band: twice the number of $edge values below the duration, one more where it equals the next
-- sums are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: n sums to the rows that take part
-- parameters: edge (list, ascending), rows
WITH spell AS (
    SELECT provider, tool, session_pk, developer, seconds
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows)
),
place AS (
    SELECT t.seconds, coalesce(sum(CASE WHEN e.edge < t.seconds THEN 2 WHEN e.edge = t.seconds THEN 1 ELSE 0 END), 0) AS band
    FROM (SELECT DISTINCT seconds FROM spell) AS t CROSS JOIN (SELECT unnest($edge) AS edge) AS e
    GROUP BY t.seconds
)
SELECT
    s.provider, s.tool, s.session_pk, hash(s.developer) AS developer_id, CAST(p.band AS BIGINT) AS band, count(*) AS n,
    sum(CAST(round(s.seconds * 1e6) AS HUGEINT)) / 1e6 AS seconds
FROM spell AS s JOIN place AS p ON p.seconds = s.seconds
GROUP BY ALL
ORDER BY session_pk
