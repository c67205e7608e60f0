-- the facts of the raw logs, piece by piece
INSERT INTO raw_log_facts BY NAME SELECT * FROM batch_facts
