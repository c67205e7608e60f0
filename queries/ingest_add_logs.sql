-- how far the raw logs were read
INSERT INTO raw_logs BY NAME SELECT * FROM batch_logs
