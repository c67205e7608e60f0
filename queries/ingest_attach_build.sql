-- a store that is being built; the old storage version lets DuckDB 1.1 read it
ATTACH $path AS trace (STORAGE_VERSION 'v1.0.0')
