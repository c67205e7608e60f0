-- grain: one row per ({keys}, permission mode, session, developer): what is known of the waits before the start
-- keys: {keys}, wait_mode, session_pk, developer_id
-- columns: n calls; n_known of them with a start of their own; of these the wall time, and the part of it before the start
-- sums are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: n sums to the rows of the group; wait_seconds <= seconds
-- parameters: rows
WITH started AS (
    SELECT {keys}, permission_mode AS wait_mode, session_pk, hash(developer) AS developer_id, approval_seconds,
        CAST(round(seconds * 1e6) AS BIGINT) AS micros,
        CAST(round(least(approval_seconds, seconds) * 1e6) AS BIGINT) AS wait_micros
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
)
SELECT * EXCLUDE (approval_seconds, micros, wait_micros), count(*) AS n, count(approval_seconds) AS n_known,
    coalesce(sum(micros) FILTER (WHERE approval_seconds IS NOT NULL), 0) / 1e6 AS seconds,
    coalesce(sum(wait_micros) FILTER (WHERE approval_seconds IS NOT NULL), 0) / 1e6 AS wait_seconds
FROM started
GROUP BY ALL
ORDER BY session_pk
