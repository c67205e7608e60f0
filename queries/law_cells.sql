-- grain: one row per ({keys}, session, developer, entry, cell): the counts that laws of durations are fitted to
-- keys: {keys}, session_pk, developer_id, enters_at (seconds from which the rows were watched), cell
-- columns: cell: where the rows end on the log grid, -1 for rows that ended before they would have entered; n_event,
--   n_censored (rows, by whether their end was seen)
-- invariants: n_event + n_censored >= 1 and sums to the rows of the group; cell -1 says nothing about any law
-- parameters: cell, lo, hi (lists, the grid, from the first edge on; the last cell is open), edge (list, where a clock
--   too coarse for the first edges may enter), rows
WITH grid AS (
    SELECT unnest($cell) AS cell, unnest($lo) AS lo, unnest($hi) AS hi
),
edge AS (
    SELECT unnest($edge) AS lo
),
-- a clock of resolution r says nothing below 5 r: such rows enter at the first edge from there on
coarse AS (
    SELECT r.resolution_seconds, min(edge.lo) AS enter_at
    FROM (SELECT DISTINCT resolution_seconds FROM durations) AS r JOIN edge ON edge.lo >= 5 * r.resolution_seconds
    GROUP BY r.resolution_seconds
),
spell AS (
    SELECT {keys}, d.session_pk, hash(d.developer) AS developer_id, d.seconds, d.observed,
        greatest(d.entry_seconds, coalesce(c.enter_at, (SELECT min(lo) FROM edge))) AS enters_at
    FROM durations AS d LEFT JOIN coarse AS c ON c.resolution_seconds = d.resolution_seconds
    WHERE d.excluded IS NULL AND ($rows = 'all' OR d.row_kind = $rows) AND {where}
),
-- clocks tick in milliseconds: far fewer times than rows have to be placed on the grid
place AS (
    SELECT t.seconds, grid.cell
    FROM (SELECT DISTINCT seconds FROM spell) AS t JOIN grid ON t.seconds >= grid.lo AND t.seconds < grid.hi
)
SELECT
    s.* EXCLUDE (seconds, observed), CASE WHEN s.seconds > s.enters_at THEN place.cell ELSE -1 END AS cell,
    count(*) FILTER (WHERE s.observed) AS n_event, count(*) FILTER (WHERE NOT s.observed) AS n_censored
FROM spell AS s LEFT JOIN place ON place.seconds = s.seconds
GROUP BY ALL
