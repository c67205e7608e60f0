-- the rejects of a source that turned out to be another one in a different file
DELETE FROM rejects WHERE source_id = $source_id
