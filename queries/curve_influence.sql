-- grain: one row per ({keys}, session, developer, interval between two chosen times): what a session adds to the
--   clustered variance of the cumulative hazard
-- keys: {keys}, session_pk, developer_id, step (index of the first chosen time that is not below the duration)
-- columns: n (rows that end there), score = sum of e / n(T) - V(T), with n(T) the rows at risk at T and V(t) = the sum
--   of d / n^2 up to t
-- sums are of whole units of 1e-15, so that they do not depend on the order in which threads add
-- invariants: n sums to the rows of the group; with V at the chosen times taken off for the rows beyond, the scores of
--   a group sum to zero at every chosen time
-- parameters: step, above, at_most (lists: intervals (above, at_most], the last one open), rows
WITH interval_of AS (
    SELECT unnest($step) AS step, unnest($above) AS above, unnest($at_most) AS at_most
),
spell AS (
    SELECT {keys}, session_pk, hash(developer) AS developer_id, seconds, CAST(observed AS INTEGER) AS e
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
),
at_risk AS (
    SELECT *, count(*) OVER (PARTITION BY {keys} ORDER BY seconds DESC RANGE UNBOUNDED PRECEDING) AS n_at_risk
    FROM spell
),
scored AS (
    SELECT *, e / n_at_risk - sum(e / (CAST(n_at_risk AS DOUBLE) * n_at_risk)) OVER (
        PARTITION BY {keys} ORDER BY seconds RANGE UNBOUNDED PRECEDING) AS score
    FROM at_risk
)
SELECT {keys}, session_pk, developer_id, step, count(*) AS n,
    sum(CAST(round(score * 1e15) AS HUGEINT)) / 1e15 AS score
FROM scored JOIN interval_of ON seconds > above AND seconds <= at_most
GROUP BY ALL
ORDER BY session_pk, step
