-- grain: one row per ({keys}): sleeps that commands asked for and slept to their end
-- keys: {keys}
-- columns: n, sleep_seconds (what they asked to sleep)
-- sums are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: raw logs only, where the limit of a command that is all sleep is that sleep: such a command ends by
--   itself, not before the time it asked for; what a harness cut off is counted where it ended on its limit
-- parameters: rows
WITH slept AS (
    SELECT {keys}, CAST(round(asked_limit_seconds * 1e6) AS BIGINT) AS micros
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND end_kind = 'completed' AND tool_class = 'shell'
        AND asked_limit_seconds IS NOT NULL AND command_skeleton LIKE '%sleep%'
        AND seconds - coalesce(approval_seconds, 0) >= asked_limit_seconds - 0.005 AND {where}
)
SELECT * EXCLUDE (micros), count(*) AS n, sum(micros) / 1e6 AS sleep_seconds
FROM slept
GROUP BY ALL
