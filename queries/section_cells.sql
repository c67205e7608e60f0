-- grain: one row per (statistic, item, rule, {keys}, session, developer, interval between two chosen values)
-- keys: statistic, item, rule, {keys}, session_pk, developer_id, step
-- columns: n (values that lie there), total (their sum)
-- invariants: n sums to the rows; sums are of whole units, so that they do not depend on the order in which threads add
-- parameters: step, above, at_most (lists: intervals (above, at_most], the last one open)
WITH interval_of AS (
    SELECT unnest($step) AS step, unnest($above) AS above, unnest($at_most) AS at_most
)
SELECT statistic, item, rule, {keys}, session_pk, hash(developer) AS developer_id, step, count(*) AS n,
    sum(CAST(round(value * 1e6) AS HUGEINT)) / 1e6 AS total
FROM section_values JOIN interval_of ON value > above AND value <= at_most
WHERE {where}
GROUP BY ALL
ORDER BY session_pk, step
