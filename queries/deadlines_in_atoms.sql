-- grain: one row per ({keys}, atom, provider, tool): which tools end in each atom of the scan
-- keys: {keys}, atom, provider_of, tool_of
-- columns: n, micros (summed microseconds)
-- invariants: the rows are those of deadlines_cells
-- parameters: atom, low, high (lists, windows [low, high)), rows
WITH window_of AS (
    SELECT unnest($atom) AS atom, unnest($low) AS low, unnest($high) AS high
),
spell AS (
    SELECT {keys}, provider AS provider_of, tool AS tool_of, seconds
    FROM durations
    WHERE excluded IS NULL AND resolution_seconds < 1 AND observed AND ($rows = 'all' OR row_kind = $rows) AND {where}
)
SELECT s.* EXCLUDE (seconds), w.atom, count(*) AS n, sum(round(s.seconds * 1e6)) AS micros
FROM spell AS s JOIN window_of AS w ON s.seconds >= w.low AND s.seconds < w.high
GROUP BY ALL
ORDER BY atom, n DESC, tool_of
