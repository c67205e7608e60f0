-- grain: one row per (statistic, item, rule, {keys}, value): what was seen at each distinct value
-- keys: statistic, item, rule, {keys}, value
-- columns: n_event, n_censored
-- invariants: n_event + n_censored >= 1; bounded by the distinct values, not the rows
SELECT statistic, item, rule, {keys}, value, count(*) FILTER (WHERE observed) AS n_event,
    count(*) FILTER (WHERE NOT observed) AS n_censored
FROM section_values
WHERE {where}
GROUP BY ALL
ORDER BY value
