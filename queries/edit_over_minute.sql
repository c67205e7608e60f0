-- grain: one row per {keys}: how much of the time of edit-class rows lies above a minute
-- keys: {keys}
-- columns: seconds, seconds_over; edits take milliseconds, so their long rows are approvals that the wall clock contains
-- sums are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: seconds_over <= seconds
SELECT {keys}, sum(CAST(round(seconds * 1e6) AS BIGINT)) / 1e6 AS seconds,
    coalesce(sum(CAST(round(seconds * 1e6) AS BIGINT)) FILTER (WHERE seconds > 60), 0) / 1e6 AS seconds_over
FROM durations
WHERE excluded IS NULL AND tool_class = 'edit' AND row_kind = 'tool' AND {where}
GROUP BY ALL
