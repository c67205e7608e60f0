-- the sources that were read to their end
INSERT INTO sources BY NAME SELECT * FROM batch_sources
