-- grain: one row per ({keys}, kind, limit): how long after the limit the durations end that ended on it
-- keys: {keys}, kind (deadline, timeout or sleep), limit_seconds
-- columns: n, late_seconds: nine tenths of them end at most so late (0 where they end early)
-- invariants: rows are those of key_atoms.sql, which says what ends on a limit; late_seconds is 0 or more
-- parameters: rows, unit
WITH ended_call AS (
    SELECT round_pk, end_kind, max_by(asked_limit_seconds, epoch_us(started_at) + round(seconds * 1e6)) AS limit_seconds
    FROM calls
    WHERE end_kind IN ('deadline', 'timeout') AND asked_limit_seconds IS NOT NULL
    GROUP BY round_pk, end_kind
),
spell AS (
    SELECT {keys}, round_pk, end_kind, asked_limit_seconds, seconds,
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
SELECT * EXCLUDE (seconds), count(*) AS n,
    greatest(0.0, round(quantile_disc(seconds - limit_seconds, 0.9), 6)) AS late_seconds
FROM placed
WHERE limit_seconds IS NOT NULL
GROUP BY ALL
ORDER BY kind, limit_seconds
