-- grain: one row per row of a user's table, as it was read
-- keys: line
-- columns: those of a chunk (tracestat.ingest.mapped.rows.STAGED); made empty
-- invariants: no id, name or command of the table as it stands there
CREATE TABLE mapped_staged AS SELECT * FROM mapped_chunk LIMIT 0
