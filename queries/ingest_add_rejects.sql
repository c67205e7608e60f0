-- what could not be a row
INSERT INTO rejects BY NAME SELECT $source_id AS source_id, batch_rejects.* FROM batch_rejects
