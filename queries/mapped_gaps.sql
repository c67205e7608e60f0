-- grain: one row per block of overlapping requests, and the gap after it
-- keys: (session_no, block); row is the round whose end is the end of the block
-- columns: first_row and last_row of the block, start_us, end_us, next_us (arrival after it), n_overlapping, tool;
--   gap: pause, call (a tool was called, nothing came after), no tool, no end, last
-- invariants: a gap is a pause where both its ends are known and, in a table that names tools, one was called;
--   end_us <= next_us
CREATE TABLE mapped_gap AS
WITH placed AS (
    SELECT m."row", m.session_no, m.block, m.start_us, m.end_us, t.tool,
        row_number() OVER (PARTITION BY m.session_no, m.block
            ORDER BY greatest(m.start_us, coalesce(m.end_us, m.start_us)) DESC, m."row" DESC) AS from_last
    FROM mapped_member AS m JOIN mapped_timed AS t ON t.line = m.line
),
block_of AS (
    SELECT session_no, block, min("row") AS first_row, max("row") AS last_row, min(start_us) AS start_us,
        count(*) - 1 AS n_overlapping, bool_or(end_us IS NULL) AS is_open,
        min("row") FILTER (WHERE from_last = 1) AS "row", min(end_us) FILTER (WHERE from_last = 1) AS end_us,
        min(tool) FILTER (WHERE from_last = 1) AS tool
    FROM placed
    GROUP BY session_no, block
),
followed AS (
    SELECT *, lead(start_us) OVER (PARTITION BY session_no ORDER BY block) AS next_us
    FROM block_of
)
SELECT *,
    CASE WHEN is_open THEN 'no end'
         WHEN $has_tool AND tool IS NULL THEN 'no tool'
         WHEN next_us IS NOT NULL THEN 'pause'
         WHEN $has_tool THEN 'call'
         ELSE 'last' END AS gap
FROM followed
