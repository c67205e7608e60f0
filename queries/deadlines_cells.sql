-- grain: one row per ({keys}, provider, session, developer, cell): what ends in each cell of the grid that the scan for
--   deadlines counts on
-- keys: {keys}, provider_of, session_pk, developer_id, cell
-- columns: n (rows that end there), n_seen (those whose end was seen), micros (their summed microseconds)
-- sums are of whole microseconds, so that they do not depend on the order in which threads add; they are exact up to
--   2^53, 285 years
-- invariants: n sums to the rows of the group whose clock ticks in less than a second; a clock of whole seconds makes
--   spikes of its own, so its rows are not here
-- parameters: cell, lo, hi (lists, the grid), rows
WITH grid AS (
    SELECT unnest($cell) AS cell, unnest($lo) AS lo, unnest($hi) AS hi
),
spell AS (
    SELECT {keys}, provider AS provider_of, session_pk, hash(developer) AS developer_id, seconds, observed
    FROM durations
    WHERE excluded IS NULL AND resolution_seconds < 1 AND ($rows = 'all' OR row_kind = $rows) AND {where}
),
-- clocks tick in milliseconds: far fewer times than rows have to be placed on the grid
place AS (
    SELECT t.seconds, grid.cell
    FROM (SELECT DISTINCT seconds FROM spell) AS t
    JOIN grid ON t.seconds >= grid.lo AND t.seconds < grid.hi
)
SELECT
    s.* EXCLUDE (seconds, observed), place.cell, count(*) AS n, count(*) FILTER (WHERE s.observed) AS n_seen,
    sum(round(s.seconds * 1e6)) AS micros
FROM spell AS s JOIN place ON place.seconds = s.seconds
GROUP BY ALL
ORDER BY session_pk, cell
