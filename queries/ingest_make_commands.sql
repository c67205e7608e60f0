-- the commands are kept; $select is the text of commands.sql, which DuckDB so plans once
CREATE TABLE commands AS FROM query($select)
