-- grain: one row per ({keys}, is_tool, session, developer, cell): what the intervals of residual life need
-- keys: {keys}, is_tool, session_pk, developer_id, cell (0: durations of 0; k: those in (edge k-1, edge k])
-- columns: n_event, n_censored (rows that end there), micros_event, micros_censored (their durations, summed)
-- sums are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: n_event + n_censored sums to the rows of the group; ids are hashes and mean nothing outside one result
-- parameters: cell, above, at_most (lists: intervals (above, at_most] from (-1, 0] on), rows
WITH grid AS (
    SELECT unnest($cell) AS cell, unnest($above) AS above, unnest($at_most) AS at_most
),
spell AS (
    SELECT {keys}, row_kind = 'tool' AS is_tool, session_pk, hash(developer) AS developer_id, seconds, observed
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
),
-- clocks tick in milliseconds: far fewer times than rows have to be placed on the grid
place AS (
    SELECT t.seconds, grid.cell
    FROM (SELECT DISTINCT seconds FROM spell) AS t JOIN grid ON t.seconds > grid.above AND t.seconds <= grid.at_most
)
SELECT
    s.* EXCLUDE (seconds, observed), place.cell,
    count(*) FILTER (WHERE s.observed) AS n_event, count(*) FILTER (WHERE NOT s.observed) AS n_censored,
    coalesce(sum(round(s.seconds * 1e6)) FILTER (WHERE s.observed), 0) AS micros_event,
    coalesce(sum(round(s.seconds * 1e6)) FILTER (WHERE NOT s.observed), 0) AS micros_censored
FROM spell AS s JOIN place ON place.seconds = s.seconds
GROUP BY ALL
ORDER BY s.session_pk, place.cell
