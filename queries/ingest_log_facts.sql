-- grain: one row per piece of the facts of one raw log
-- keys: piece
-- columns: facts, compressed
-- invariants: in the order in which they were read
SELECT facts FROM raw_log_facts WHERE source_id = $source_id ORDER BY piece
