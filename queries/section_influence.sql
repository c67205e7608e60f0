-- grain: one row per (item, rule, {keys}, session, developer, interval between two chosen values) of one statistic, some
--   of whose values are censored: what a session adds to the clustered variance of its cumulative hazard
-- keys: statistic, item, rule, {keys}, session_pk, developer_id, step
-- columns: n; score as in curve_influence
-- invariants: n sums to the rows; sums are of whole units, so that they do not depend on the order in which threads add
-- parameters: statistic, step, above, at_most (lists: intervals (above, at_most], the last one open)
WITH interval_of AS (
    SELECT unnest($step) AS step, unnest($above) AS above, unnest($at_most) AS at_most
),
spell AS (
    SELECT statistic, item, rule, {keys}, session_pk, hash(developer) AS developer_id, value, count(*) AS n,
        count(*) FILTER (WHERE observed) AS e
    FROM section_values
    WHERE statistic = $statistic AND {where}
    GROUP BY ALL
),
at_risk AS (
    SELECT *, sum(n) OVER (PARTITION BY statistic, item, rule, {keys} ORDER BY value DESC
        RANGE UNBOUNDED PRECEDING) AS n_at_risk
    FROM spell
),
scored AS (
    SELECT *, e / n_at_risk - n * sum(e / (CAST(n_at_risk AS DOUBLE) * n_at_risk)) OVER (
        PARTITION BY statistic, item, rule, {keys} ORDER BY value RANGE UNBOUNDED PRECEDING) AS score
    FROM at_risk
)
SELECT statistic, item, rule, {keys}, session_pk, developer_id, step, CAST(sum(n) AS BIGINT) AS n,
    sum(CAST(round(score * 1e15) AS HUGEINT)) / 1e15 AS score
FROM scored JOIN interval_of ON value > above AND value <= at_most
GROUP BY ALL
ORDER BY session_pk, step
