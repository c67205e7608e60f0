-- grain: one row per piece of the facts of a raw log
-- keys: source_id, piece
-- columns: source_id; facts, compressed
-- invariants: the pieces of a log in the order in which they were read
SELECT source_id, facts FROM raw_log_facts ORDER BY source_id, piece
