-- grain: one row per good row, in its session
-- keys: line
-- columns: session_no (sessions by first line; a session is provider, developer and session), block, start_us, end_us,
--   request_line (first line of the rows with its request_id; null without)
-- invariants: the rows of a block overlap in a chain or begin together: each begins before an earlier one has ended;
--   blocks of a session do not overlap and are numbered in the order of time; a row without an end reaches nowhere
CREATE TABLE mapped_placed AS
WITH session_of AS (
    SELECT provider, developer, session, row_number() OVER (ORDER BY min(line)) AS session_no
    FROM mapped_timed
    WHERE reason IS NULL
    GROUP BY ALL
),
request_of AS (
    SELECT provider, developer, session, request, min(line) AS request_line
    FROM mapped_timed
    WHERE reason IS NULL AND request IS NOT NULL
    GROUP BY ALL
),
good AS (
    SELECT s.session_no, t.line, t.start_us, t.end_us, q.request_line
    FROM mapped_timed AS t
    JOIN session_of AS s
        ON s.session = t.session AND s.provider = t.provider AND s.developer IS NOT DISTINCT FROM t.developer
    LEFT JOIN request_of AS q
        ON q.request = t.request AND q.session = t.session AND q.provider = t.provider
        AND q.developer IS NOT DISTINCT FROM t.developer
    WHERE t.reason IS NULL
),
reached AS (
    SELECT *,
        max(greatest(start_us, coalesce(end_us, start_us))) OVER (PARTITION BY session_no ORDER BY start_us, line
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach_us,
        lag(start_us) OVER (PARTITION BY session_no ORDER BY start_us, line) AS before_us
    FROM good
)
SELECT * EXCLUDE (reach_us, before_us),
    CAST(sum(CASE WHEN reach_us IS NULL OR (start_us >= reach_us AND start_us > before_us) THEN 1 ELSE 0 END)
        OVER (PARTITION BY session_no ORDER BY start_us, line ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        AS BIGINT) AS block
FROM reached
