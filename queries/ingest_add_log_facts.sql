-- a piece of the facts of a raw log
INSERT INTO raw_log_facts BY NAME SELECT $source_id AS source_id, $piece AS piece, $facts AS facts
