-- grain: one row per good row, in its session
-- keys: line
-- columns: session_no (sessions by first line; a session is provider, developer and session), block, then as
--   mapped_timed
-- invariants: the rows of a block overlap in a chain or begin together: each begins before an earlier one has ended;
--   blocks of a session do not overlap and are numbered in the order of time; a row without an end reaches nowhere
CREATE TABLE mapped_placed AS
WITH session_of AS (
    SELECT provider, developer, session, row_number() OVER (ORDER BY min(line)) AS session_no
    FROM mapped_timed
    WHERE reason IS NULL
    GROUP BY ALL
),
reached AS (
    SELECT s.session_no, t.* EXCLUDE (reason),
        max(greatest(t.start_us, coalesce(t.end_us, t.start_us))) OVER (PARTITION BY s.session_no
            ORDER BY t.start_us, t.line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach_us,
        lag(t.start_us) OVER (PARTITION BY s.session_no ORDER BY t.start_us, t.line) AS before_us
    FROM mapped_timed AS t
    JOIN session_of AS s
        ON s.provider = t.provider AND s.session = t.session AND s.developer IS NOT DISTINCT FROM t.developer
    WHERE t.reason IS NULL
)
SELECT * EXCLUDE (reach_us, before_us),
    sum(CASE WHEN reach_us IS NULL OR (start_us >= reach_us AND start_us > before_us) THEN 1 ELSE 0 END)
        OVER (PARTITION BY session_no ORDER BY start_us, line ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS block
FROM reached
