-- what could not be a row of one source of a store
SELECT line, part, row_index, reason FROM rejects WHERE source_id = $source_id
