-- grain: one row per run of $rows rounds that follow each other
-- keys: part
-- columns: first and last (round_pk), rounds
-- invariants: the runs are in order, do not overlap, and hold every round
SELECT part, min(round_pk) AS "first", max(round_pk) AS "last", count(*) AS rounds
FROM (SELECT round_pk, (row_number() OVER (ORDER BY round_pk) - 1) // $rows AS part FROM rounds)
GROUP BY part
ORDER BY part
