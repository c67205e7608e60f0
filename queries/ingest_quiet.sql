-- grain: none: sets an option of this connection
-- keys: none
-- columns: none
-- invariants: DuckDB would draw its progress bar on stdout, where results go
SET enable_progress_bar = false
