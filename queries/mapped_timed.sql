-- grain: one row per staged row, with its times in microseconds since 1970
-- keys: line
-- columns: as mapped_staged, with start_us and end_us in place of what they are made of, and reason: why it is no row
-- invariants: start_us is null only where there is a reason; the first of several rows with one call_id in a session
--   (in a table of requests, with one request_id) stays
CREATE TABLE mapped_timed AS
WITH scaled AS (
    SELECT *,
        -- the remainder is taken off first: division cuts towards zero, times before 1970 go to the past
        (CAST(start_whole AS HUGEINT) * $start_up - (start_whole % $start_down + $start_down) % $start_down)
            // $start_down + start_nanos * $start_up // 1000000000 AS start_number,
        (CAST(end_whole AS HUGEINT) * $end_up - (end_whole % $end_down + $end_down) % $end_down)
            // $end_down + end_nanos * $end_up // 1000000000 AS end_number
    FROM mapped_staged
),
timed AS (
    SELECT * EXCLUDE (start_iso, start_whole, start_nanos, start_number, end_iso, end_whole, end_nanos, end_number,
            took_us),
        coalesce(start_iso, CASE WHEN start_number BETWEEN $start_first AND $start_last
            THEN CAST(start_number AS BIGINT) END) AS start_us,
        coalesce(end_iso, CASE WHEN end_number BETWEEN $end_first AND $end_last THEN CAST(end_number AS BIGINT) END,
            coalesce(start_iso, CASE WHEN start_number BETWEEN $start_first AND $start_last
                THEN CAST(start_number AS BIGINT) END) + took_us) AS end_us,
        end_number IS NOT NULL AND NOT end_number BETWEEN $end_first AND $end_last AS end_is_off
    FROM scaled
),
named AS (
    SELECT * EXCLUDE (end_is_off),
        CASE WHEN $requests THEN request ELSE "call" END AS own_id,
        CASE WHEN start_us IS NULL THEN $start_reason WHEN end_is_off THEN $end_reason END AS reason
    FROM timed
),
repeated AS (
    SELECT provider, developer, session, own_id, min(line) AS first_line
    FROM named
    WHERE own_id IS NOT NULL AND reason IS NULL
    GROUP BY ALL
    HAVING count(*) > 1
)
SELECT n.* EXCLUDE (own_id, reason),
    coalesce(n.reason, CASE WHEN n.line > r.first_line THEN $repeat_reason END) AS reason
FROM named AS n
LEFT JOIN repeated AS r
    ON r.own_id = n.own_id AND r.session = n.session AND r.provider = n.provider
    AND r.developer IS NOT DISTINCT FROM n.developer
