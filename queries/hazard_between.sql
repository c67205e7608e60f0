-- grain: one row per (keys, provider, session, developer, tool class, skeleton, lo, hi): ends known to an interval
-- keys: {keys}, provider_of, session_pk, developer_id, class_id, skeleton_id, lo, hi
-- columns: n: rows that ended somewhere in (lo, hi], seconds
-- invariants: n sums to the rows of sign 2 of hazard_cells; lo < hi; ids as in hazard_cells
-- parameters: edge (list, the edges of the bins), rows
WITH edge AS (
    SELECT unnest($edge) AS lo
),
coarse AS (
    SELECT r.resolution_seconds, min(edge.lo) AS enter_at
    FROM (SELECT DISTINCT resolution_seconds FROM durations) AS r JOIN edge ON edge.lo >= 5 * r.resolution_seconds
    WHERE 5 * r.resolution_seconds > (SELECT min(lo) FROM edge)
    GROUP BY r.resolution_seconds
)
SELECT {keys}, d.provider AS provider_of, d.session_pk, hash(d.developer) AS developer_id,
    hash(d.tool_class) AS class_id,
    hash(d.tool_class, coalesce(nullif(d.command_skeleton, ''), d.tool)) AS skeleton_id,
    d.ended_after AS lo, d.seconds AS hi, count(*) AS n
FROM durations AS d LEFT JOIN coarse AS c ON c.resolution_seconds = d.resolution_seconds
WHERE d.excluded IS NULL AND ($rows = 'all' OR d.row_kind = $rows) AND {where}
    AND d.ended_after >= greatest(d.entry_seconds, coalesce(c.enter_at, 0))
GROUP BY ALL
ORDER BY session_pk, skeleton_id, lo, hi
