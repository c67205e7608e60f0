-- grain: one row per ({keys}, kind, limit, session): durations that ended at a limit, or with the sleep they asked for
-- keys: {keys}, kind (deadline, timeout or sleep), limit_seconds, session_pk
-- columns: n_ended
-- invariants: a duration is in one row at most; an end at a limit that is not known is in none; the limit of a pause is
--   that of the call that ended on it and returned last; a sleep is a command that is all sleep and ended by itself with
--   it, within half a second and 1 % (raw logs only: there the limit of such a command is its sleep), in a pause without
--   other calls, which could have ended it; what was lost from sight ends nowhere, so commands have no deadlines
-- parameters: rows, unit
WITH ended_call AS (
    SELECT round_pk, end_kind, max_by(asked_limit_seconds, epoch_us(started_at) + round(seconds * 1e6)) AS limit_seconds
    FROM calls
    WHERE end_kind IN ('deadline', 'timeout') AND asked_limit_seconds IS NOT NULL
    GROUP BY round_pk, end_kind
),
spell AS (
    SELECT {keys}, session_pk, round_pk, end_kind, asked_limit_seconds,
        end_kind = 'completed' AND tool_class = 'shell' AND command_skeleton LIKE '%sleep%'
            AND seconds - coalesce(approval_seconds, 0) >= asked_limit_seconds - 0.005
            AND seconds - coalesce(approval_seconds, 0) < 1.01 * asked_limit_seconds + 0.5
            AND ($unit <> 'pause' OR n_calls = 1) AS slept
    FROM durations
    WHERE observed AND excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
),
placed AS (
    SELECT s.* EXCLUDE (round_pk, end_kind, asked_limit_seconds, slept),
        CASE WHEN s.slept THEN 'sleep' ELSE s.end_kind END AS kind,
        CASE WHEN NOT s.slept AND $unit = 'pause' THEN e.limit_seconds ELSE s.asked_limit_seconds END AS limit_seconds
    FROM spell AS s LEFT JOIN ended_call AS e ON e.round_pk = s.round_pk AND e.end_kind = s.end_kind
    WHERE s.slept OR s.end_kind IN ('deadline', 'timeout')
)
SELECT *, count(*) AS n_ended
FROM placed
WHERE limit_seconds IS NOT NULL
GROUP BY ALL
ORDER BY session_pk, kind, limit_seconds
