-- grain: one row per ({keys}, session, developer): sums whose ratios are the shares above a threshold
-- keys: {keys}, session_pk, developer_id
-- columns: n, n_censored, seconds, token_seconds; n_over, seconds_over, token_seconds_over of the rows longer than $over
-- invariants: n sums to the rows of the group; *_over <= the column without it
-- parameters: over, rows
SELECT
    {keys}, session_pk, hash(developer) AS developer_id, count(*) AS n,
    count(*) FILTER (WHERE NOT observed) AS n_censored,
    sum(seconds) AS seconds, coalesce(sum(seconds * context_tokens), 0) AS token_seconds,
    count(*) FILTER (WHERE seconds > $over) AS n_over,
    coalesce(sum(seconds) FILTER (WHERE seconds > $over), 0) AS seconds_over,
    coalesce(sum(seconds * context_tokens) FILTER (WHERE seconds > $over), 0) AS token_seconds_over
FROM durations
WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
GROUP BY ALL
