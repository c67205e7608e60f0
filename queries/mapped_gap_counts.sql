-- grain: one row per kind of gap
-- keys: gap
-- columns: n, n_overlapping (requests that arrived while another of their session ran)
-- invariants: the sum of n + n_overlapping is the number of requests
SELECT gap, count(*) AS n, CAST(sum(n_overlapping) AS BIGINT) AS n_overlapping FROM mapped_gap GROUP BY gap ORDER BY gap
