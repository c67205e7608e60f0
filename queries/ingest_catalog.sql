-- the tables of the attached file with their columns, to see what kind of file it is
SELECT c.table_name, c.column_name
FROM duckdb_columns() AS c
JOIN duckdb_tables() AS t ON t.database_oid = c.database_oid AND t.table_oid = c.table_oid
WHERE c.database_name = 'trace' AND c.schema_name = 'main'
ORDER BY c.table_name, c.column_index
