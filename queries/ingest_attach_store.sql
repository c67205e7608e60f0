-- a store, or a DuckDB file of someone else, for reading
ATTACH $path AS trace (READ_ONLY)
