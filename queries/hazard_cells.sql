-- grain: one row per (keys, provider, session, developer, tool class, skeleton, cell): sufficient statistics of every
--   hazard estimate
-- keys: {keys}, provider_of, session_pk, developer_id, class_id, skeleton_id, cell
-- columns: n (rows that end in the cell), n_seen (those whose end was seen), seconds (summed), n_censored and
--   time_censored (those not seen to end), n_event (the ends that count as events, since the row had entered), n_net and
--   time_net (rows and summed time of those that end in the cell, less those that enter in it: an entry is a negative
--   end), so that exposure follows from them alone
-- sums are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: n sums to the rows of the group; n_event <= n; ids are hashes and mean nothing outside one result
-- parameters: cell, lo, hi (lists, the grid), edge (list, the edges of the bins), rows
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
    SELECT d.*, greatest(d.entry_seconds, coalesce(c.enter_at, 0)) AS enters_at
    FROM durations AS d LEFT JOIN coarse AS c ON c.resolution_seconds = d.resolution_seconds
    WHERE d.excluded IS NULL AND ($rows = 'all' OR d.row_kind = $rows) AND {where}
),
identified AS (
    SELECT {keys}, provider AS provider_of, session_pk, hash(developer) AS developer_id, hash(tool_class) AS class_id,
        hash(tool_class, coalesce(nullif(command_skeleton, ''), tool)) AS skeleton_id, seconds, observed, enters_at,
        seconds > enters_at AS entered, CAST(round(seconds * 1e6) AS BIGINT) AS micros
    FROM spell
),
step AS (
    SELECT * EXCLUDE (seconds, observed, enters_at, entered, micros), seconds AS at_seconds, micros AS at_micros,
        micros AS spent_micros, 1 AS n,
        CAST(observed AS INTEGER) AS seen, CAST(observed AND entered AS INTEGER) AS n_event,
        CAST(NOT observed AND entered AS INTEGER) AS n_censored, CAST(entered AS INTEGER) AS sign
    FROM identified
    UNION ALL BY NAME
    SELECT * EXCLUDE (seconds, observed, enters_at, entered, micros), enters_at AS at_seconds,
        CAST(round(enters_at * 1e6) AS BIGINT) AS at_micros, 0 AS spent_micros, 0 AS n, 0 AS seen, 0 AS n_event, 0 AS n_censored, -1 AS sign
    FROM identified
    WHERE enters_at > 0 AND entered
)
SELECT
    step.* EXCLUDE (at_seconds, at_micros, spent_micros, n, seen, n_event, n_censored, sign), grid.cell,
    CAST(sum(n) AS BIGINT) AS n, CAST(sum(seen) AS BIGINT) AS n_seen, sum(spent_micros) / 1e6 AS seconds,
    CAST(sum(n_censored) AS BIGINT) AS n_censored, sum(n_censored * at_micros) / 1e6 AS time_censored,
    CAST(sum(n_event) AS BIGINT) AS n_event, CAST(sum(sign) AS BIGINT) AS n_net, sum(sign * at_micros) / 1e6 AS time_net
FROM step JOIN grid ON step.at_seconds >= grid.lo AND step.at_seconds < grid.hi
GROUP BY ALL
ORDER BY session_pk, cell, class_id, skeleton_id, developer_id
