-- the calls of a batch; `row` is the place of their round over all sources, from 1
INSERT INTO tool_calls BY NAME
SELECT batch_calls."row" AS round_pk, batch_calls.* EXCLUDE ("row")
FROM batch_calls
