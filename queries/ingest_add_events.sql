-- the timing events of a batch
INSERT INTO timing_events BY NAME
SELECT batch_events."row" AS round_pk, batch_events.* EXCLUDE ("row")
FROM batch_events
