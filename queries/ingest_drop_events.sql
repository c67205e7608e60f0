-- the rows of a source that turned out to be another one in a different file
DELETE FROM timing_events WHERE round_pk >= $first
