-- grain: one row per row of a chunk
-- keys: line
-- columns: as mapped_staged
-- invariants: a line is added once
INSERT INTO mapped_staged SELECT * FROM mapped_chunk
