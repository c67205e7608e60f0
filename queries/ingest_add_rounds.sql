-- a batch of rounds; `row` is the place of a round in its source, from 0
INSERT INTO rounds BY NAME
SELECT $first + batch_rounds."row" AS round_pk, $first + batch_rounds."row" AS ingest_seq,
    batch_rounds.* EXCLUDE ("row")
FROM batch_rounds
