-- a store that is being built: the old storage version lets DuckDB 1.1 read it, and a draft needs no log to recover
ATTACH $path AS trace (STORAGE_VERSION 'v1.0.0', RECOVERY_MODE 'no_wal_writes')
