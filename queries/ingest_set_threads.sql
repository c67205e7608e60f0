-- how many threads DuckDB uses from here on
SET threads = $threads
