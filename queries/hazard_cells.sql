-- grain: one row per (keys, provider, session, developer, tool class, skeleton, cell): sufficient statistics of every
--   hazard estimate
-- keys: {keys}, provider_of, session_pk, developer_id, class_id, skeleton_id, sign, cell
-- columns: sign: 1 an end (of a row that had entered), 0 an early end (before the row would have entered), -1 an entry,
--   2, if between, an end that is known to an interval only (placed where it was told; hazard_between has the interval);
--   n (rows), n_seen (those whose end was seen), micros (summed microseconds, to the end or to the entry), micros_lost
--   (of those not seen to end). Exposure follows from ends less entries
-- sums are of whole microseconds, so that they do not depend on the order in which threads add; they are exact up to
--   2^53, 285 years
-- invariants: n of ends, of whatever sign, sums to the rows of the group; n_seen <= n; ids are hashes and mean nothing
--   outside one result
-- parameters: cell, lo, hi (lists, the grid), edge (list, the edges of the bins), rows, between
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
    WHERE 5 * r.resolution_seconds > (SELECT min(lo) FROM edge)
    GROUP BY r.resolution_seconds
),
spell AS (
    SELECT {keys}, d.provider AS provider_of, d.session_pk, hash(d.developer) AS developer_id,
        hash(d.tool_class) AS class_id,
        hash(d.tool_class, coalesce(nullif(d.command_skeleton, ''), d.tool)) AS skeleton_id,
        d.seconds, d.observed, CASE WHEN $between THEN d.ended_after END AS ended_after,
        greatest(d.entry_seconds, coalesce(c.enter_at, 0)) AS enters_at
    FROM durations AS d LEFT JOIN coarse AS c ON c.resolution_seconds = d.resolution_seconds
    WHERE d.excluded IS NULL AND ($rows = 'all' OR d.row_kind = $rows) AND {where}
),
step AS (
    SELECT * EXCLUDE (seconds, observed, ended_after, enters_at),
        -- of a row last seen before it would have entered it is not known whether it did
        CAST(CASE WHEN ended_after >= enters_at THEN 2 WHEN ended_after < enters_at THEN 0
             WHEN enters_at = 0 OR seconds > enters_at THEN 1 ELSE 0 END AS TINYINT) AS sign,
        seconds AS at_seconds, observed
    FROM spell
    UNION ALL BY NAME
    SELECT * EXCLUDE (seconds, observed, ended_after, enters_at), CAST(-1 AS TINYINT) AS sign, enters_at AS at_seconds,
        TRUE AS observed
    FROM spell
    WHERE enters_at > 0 AND seconds > enters_at AND (ended_after IS NULL OR ended_after >= enters_at)
),
-- clocks tick in milliseconds: far fewer times than rows have to be placed on the grid
place AS (
    SELECT t.at_seconds, grid.cell
    FROM (SELECT DISTINCT at_seconds FROM step) AS t
    JOIN grid ON t.at_seconds >= grid.lo AND t.at_seconds < grid.hi
)
SELECT
    s.* EXCLUDE (at_seconds, observed), place.cell, count(*) AS n, count(*) FILTER (WHERE s.observed) AS n_seen,
    sum(round(s.at_seconds * 1e6)) AS micros, coalesce(sum(round(s.at_seconds * 1e6)) FILTER (WHERE NOT s.observed), 0) AS micros_lost
FROM step AS s JOIN place ON place.at_seconds = s.at_seconds
GROUP BY ALL
