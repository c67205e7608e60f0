-- grain: one row per ({keys}, provider, session, developer, second): how many rows of a clock of whole seconds end at
--   each second that is asked for
-- keys: {keys}, provider_of, session_pk, developer_id, at_second
-- columns: n, n_all (rows of the session on such a clock, at any second; on its row with at_second -1)
-- invariants: only rows whose clock ticks in whole seconds
-- parameters: second (list), rows
WITH asked AS (
    SELECT unnest($second) AS at_second
),
spell AS (
    SELECT {keys}, provider AS provider_of, session_pk, hash(developer) AS developer_id,
        CAST(round(seconds) AS BIGINT) AS at_second, observed, CAST(round(seconds * 1e6) AS BIGINT) AS micros
    FROM durations
    WHERE excluded IS NULL AND resolution_seconds >= 1 AND ($rows = 'all' OR row_kind = $rows) AND {where}
)
SELECT * EXCLUDE (at_second, observed, micros), -1 AS at_second, count(*) AS n,
    count(*) FILTER (WHERE observed) AS n_seen, sum(micros) / 1e6 AS seconds
FROM spell
GROUP BY ALL
UNION ALL BY NAME
SELECT s.* EXCLUDE (observed, micros), count(*) AS n, count(*) FILTER (WHERE s.observed) AS n_seen,
    sum(s.micros) / 1e6 AS seconds
FROM spell AS s JOIN asked AS a ON a.at_second = s.at_second
WHERE s.observed
GROUP BY ALL
ORDER BY session_pk, at_second
