-- the timing events of a DuckDB file in its own order: those of TraceLab's columns that it has
SELECT COLUMNS(lambda name: name IN (
    'round_pk', 'event_index', 'event_type', 'source', 'timestamp', 'tool_call_id', 'tool_index', 'tool_name',
    'is_error', 'result_chars', 'content_chars'
))
FROM timing_events
