-- how far a raw log was read
INSERT INTO raw_logs BY NAME SELECT $source_id AS source_id, $state AS state, $rest AS rest
