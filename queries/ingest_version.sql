-- who made this store, in which form
SELECT schema_version, tracestat_version, synthetic FROM tracestat
