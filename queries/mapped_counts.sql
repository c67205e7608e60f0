-- grain: one row: what a table held
-- keys: none
-- columns: rows kept, sessions, rounds, most calls in one round, rows without an end, rows that end before they begin,
--   first and last times
-- invariants: n_backward <= n_kept - n_open
SELECT count(*) AS n_kept, count(DISTINCT session_no) AS n_sessions, count(*) - count(end_us) AS n_open,
    count(*) FILTER (WHERE end_us < start_us) AS n_backward,
    make_timestamp(min(start_us)) AS first_start, make_timestamp(max(start_us)) AS last_start,
    make_timestamp(min(end_us)) AS first_end, make_timestamp(max(end_us)) AS last_end,
    (SELECT count(*) FROM mapped_round) AS n_rounds,
    (SELECT coalesce(max(tool_index), -1) + 1 FROM mapped_call) AS most_calls
FROM mapped_placed
