-- grain: one row per {keys}: how much of the time of edit-class rows lies above a minute
-- keys: {keys}
-- columns: seconds, seconds_over; edits take milliseconds, so their long rows are approvals that the wall clock contains
-- invariants: seconds_over <= seconds
SELECT {keys}, sum(seconds) AS seconds, coalesce(sum(seconds) FILTER (WHERE seconds > 60), 0) AS seconds_over
FROM durations
WHERE excluded IS NULL AND tool_class = 'edit' AND row_kind = 'tool' AND {where}
GROUP BY ALL
