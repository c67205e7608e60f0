-- grain: one row per ({keys}, provider, tool class, developer, entry, cell): the counts that regressions are fitted to
-- keys: {keys}, provider_of, class_of, developer_of, enters_at (seconds from which the rows were watched), cell
-- columns: cell: where the rows end on the log grid, -1 for rows that ended before they would have entered; n_event,
--   n_censored (rows, by whether their end was seen); provider_of, class_of, developer_of: as provider, tool_class and
--   developer, which may stand among the keys
-- invariants: n_event + n_censored >= 1 and sums to the rows of the group
-- parameters: as law_cells
WITH grid AS (
    SELECT unnest($cell) AS cell, unnest($lo) AS lo, unnest($hi) AS hi
),
edge AS (
    SELECT unnest($edge) AS lo
),
coarse AS (
    SELECT r.resolution_seconds, min(edge.lo) AS enter_at
    FROM (SELECT DISTINCT resolution_seconds FROM durations) AS r JOIN edge ON edge.lo >= 5 * r.resolution_seconds
    GROUP BY r.resolution_seconds
),
spell AS (
    SELECT {keys}, d.provider AS provider_of, d.tool_class AS class_of, d.developer AS developer_of, d.seconds, d.observed,
        greatest(d.entry_seconds, coalesce(c.enter_at, (SELECT min(lo) FROM edge))) AS enters_at
    FROM durations AS d LEFT JOIN coarse AS c ON c.resolution_seconds = d.resolution_seconds
    WHERE d.excluded IS NULL AND ($rows = 'all' OR d.row_kind = $rows) AND {where}
),
place AS (
    SELECT t.seconds, grid.cell
    FROM (SELECT DISTINCT seconds FROM spell) AS t JOIN grid ON t.seconds >= grid.lo AND t.seconds < grid.hi
)
SELECT
    s.* EXCLUDE (seconds, observed), CASE WHEN s.seconds > s.enters_at THEN place.cell ELSE -1 END AS cell,
    count(*) FILTER (WHERE s.observed) AS n_event, count(*) FILTER (WHERE NOT s.observed) AS n_censored
FROM spell AS s LEFT JOIN place ON place.seconds = s.seconds
GROUP BY ALL
