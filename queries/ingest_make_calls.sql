-- the calls are kept; $select is the text of calls.sql, which DuckDB so plans once
CREATE TABLE calls AS FROM query($select)
