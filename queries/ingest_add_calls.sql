-- the calls of a batch
INSERT INTO tool_calls BY NAME
SELECT $first + batch_calls."row" AS round_pk, $source_id AS source_id, batch_calls.* EXCLUDE ("row")
FROM batch_calls
