-- the pauses are kept; $select is the text of pauses.sql, which DuckDB so plans once
CREATE TABLE pauses AS FROM query($select)
