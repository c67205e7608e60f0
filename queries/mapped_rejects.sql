-- grain: one row per staged row that is no row of a trace
-- keys: line
-- columns: line, reason
-- invariants: the reason holds nothing of the table
SELECT line, reason FROM mapped_timed WHERE reason IS NOT NULL ORDER BY line
