-- rows of a store, and what was left out of it
SELECT
    (SELECT count(*) FROM rounds) AS rounds,
    (SELECT count(*) FROM tool_calls) AS tool_calls,
    (SELECT count(*) FROM timing_events) AS timing_events,
    (SELECT count(*) FROM rejects) AS rejected
