-- grain: none: sets an option of this connection
-- keys: none
-- columns: none
-- invariants: every query that gives rows orders them itself; keeping the order in between only takes memory
SET preserve_insertion_order = false
