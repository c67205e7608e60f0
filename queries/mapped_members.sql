-- grain: one row per good row, in its round
-- keys: line
-- columns: as mapped_placed, with row (place of the round in the trace: by session, then time), round_index, twin
--   (rounds of a session that begin at one time are told apart by it), first_us, n_lines of its round, is_first (first line of it)
-- invariants: a request is a round; calls are of one round when they name the same request in a session, or, in a
--   table that names none, when they are of one block: a model goes on only when all results are back; round_index
--   from 0 in a session
CREATE TABLE mapped_member AS
WITH keyed AS (
    SELECT *,
        CASE WHEN $requests THEN line WHEN $by_request THEN coalesce(request_line, line) ELSE block END AS round_key
    FROM mapped_placed
),
grouped AS (
    SELECT session_no, round_key, min(start_us) AS first_us, min(line) AS first_line, count(*) AS n_lines
    FROM keyed
    GROUP BY session_no, round_key
),
numbered AS (
    SELECT *,
        row_number() OVER (ORDER BY session_no, first_us, first_line) - 1 AS "row",
        row_number() OVER (PARTITION BY session_no ORDER BY first_us, first_line) - 1 AS round_index,
        row_number() OVER (PARTITION BY session_no, first_us ORDER BY first_line) AS twin
    FROM grouped
)
SELECT k.* EXCLUDE (round_key, request_line), n."row", n.round_index, n.twin, n.first_us, n.n_lines,
    k.line = n.first_line AS is_first
FROM keyed AS k
JOIN numbered AS n ON n.session_no = k.session_no AND n.round_key = k.round_key
