-- grain: one row per ({keys}, session, developer): sums whose ratios are the shares above a threshold
-- keys: {keys}, session_pk, developer_id
-- columns: n, n_censored, seconds, token_seconds; n_over, seconds_over, token_seconds_over of the rows longer than $over
-- sums are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: n sums to the rows of the group; *_over <= the column without it
-- parameters: over, rows
WITH spell AS (
    SELECT *, CAST(round(seconds * 1e6) AS HUGEINT) AS micros
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
)
SELECT
    {keys}, session_pk, hash(developer) AS developer_id, count(*) AS n,
    count(*) FILTER (WHERE NOT observed) AS n_censored,
    sum(micros) / 1e6 AS seconds, coalesce(sum(micros * context_tokens), 0) / 1e6 AS token_seconds,
    count(*) FILTER (WHERE seconds > $over) AS n_over,
    coalesce(sum(micros) FILTER (WHERE seconds > $over), 0) / 1e6 AS seconds_over,
    coalesce(sum(micros * context_tokens) FILTER (WHERE seconds > $over), 0) / 1e6 AS token_seconds_over
FROM spell
GROUP BY ALL
ORDER BY session_pk
