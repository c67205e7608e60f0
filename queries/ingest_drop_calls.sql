-- the rows of a source that turned out to be another one in a different file
DELETE FROM tool_calls WHERE round_pk >= $first
