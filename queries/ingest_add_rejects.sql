-- what could not be a row
INSERT INTO rejects BY NAME SELECT * FROM batch_rejects
