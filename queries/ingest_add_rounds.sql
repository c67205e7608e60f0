-- a batch of rounds; `row` is the place of a round over all sources, from 1
INSERT INTO rounds BY NAME
SELECT batch_rounds."row" AS round_pk, batch_rounds."row" AS ingest_seq, batch_rounds.* EXCLUDE ("row")
FROM batch_rounds
