-- who made the store, and whether any of it was made up
INSERT INTO tracestat
SELECT $schema_version, $version, $created_at, EXISTS (SELECT 1 FROM rounds WHERE store = '.synthetic')
