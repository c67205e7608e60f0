-- grain: one row per request of which more than its calls is known
-- keys: row
-- columns: user_us (its arrival, where its user sent it), text_us (its end)
-- invariants: a user sent the first request of a session, and one that follows a request without a tool in a table
--   that names tools
CREATE TABLE mapped_arrival AS
WITH before AS (
    SELECT first_row, start_us, lag(gap) OVER (PARTITION BY session_no ORDER BY block) AS gap_before FROM mapped_gap
)
SELECT r."row", CASE WHEN b.first_row IS NOT NULL AND coalesce(b.gap_before, 'no tool') = 'no tool' THEN b.start_us END
        AS user_us,
    p.end_us AS text_us
FROM mapped_round AS r
JOIN mapped_placed AS p ON p.line = r.line
LEFT JOIN before AS b ON b.first_row = r."row"
