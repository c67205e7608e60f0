-- grain: one row per ({keys}, provider, session, developer, limit): rows that say themselves that they ended on a limit
-- keys: {keys}, provider_of, tells, session_pk, developer_id, limit_seconds (-1: all rows of the session)
-- columns: tells (whether calls of this provider say how they ended); n_ended (end kind deadline or timeout), n_at_risk (those, and all others that lasted as long as the limit;
--   for limit -1 all rows), n_seen (rows whose end was seen, for limit -1), seconds (of the ended; for limit -1 of all),
--   first_seconds and last_seconds (of the ended)
-- sums are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: n_ended <= n_at_risk; where nothing tells only rows with limit -1, and 0 ended; the limit of a pause is that of the
--   call that ended on it and returned last; ended rows without a known limit have limit_seconds null
-- parameters: rows, unit
WITH telling AS (
    SELECT r.provider, bool_or(c.command_status IS NOT NULL) AS tells
    FROM tool_calls AS c JOIN rounds AS r USING (round_pk)
    GROUP BY r.provider
),
ended_call AS (
    SELECT round_pk, end_kind, max_by(asked_limit_seconds, epoch_us(started_at) + round(seconds * 1e6)) AS limit_seconds
    FROM calls
    WHERE end_kind IN ('deadline', 'timeout') AND asked_limit_seconds IS NOT NULL
    GROUP BY round_pk, end_kind
),
spell AS (
    SELECT {keys}, provider AS provider_of, provider IN (SELECT provider FROM telling WHERE tells) AS tells, session_pk,
        hash(developer) AS developer_id, round_pk, end_kind,
        end_kind IN ('deadline', 'timeout') AS ended, observed, asked_limit_seconds AS own_limit, seconds,
        CAST(round(seconds * 1e6) AS BIGINT) AS micros
    FROM durations
    WHERE excluded IS NULL AND ($rows = 'all' OR row_kind = $rows) AND {where}
),
placed AS (
    SELECT s.* EXCLUDE (round_pk, end_kind, own_limit),
        CASE WHEN NOT s.ended THEN NULL WHEN $unit = 'pause' THEN e.limit_seconds ELSE s.own_limit END AS own_limit
    FROM spell AS s LEFT JOIN ended_call AS e ON e.round_pk = s.round_pk AND e.end_kind = s.end_kind
),
limits AS (
    SELECT DISTINCT own_limit AS limit_seconds, own_limit - greatest(0.005, 0.001 * own_limit) AS reached_at
    FROM placed WHERE own_limit IS NOT NULL
)
SELECT p.* EXCLUDE (ended, observed, own_limit, seconds, micros), -1e0 AS limit_seconds,
    count(*) FILTER (WHERE ended) AS n_ended, count(*) AS n_at_risk, count(*) FILTER (WHERE observed) AS n_seen,
    sum(micros) / 1e6 AS seconds, NULL AS first_seconds, NULL AS last_seconds
FROM placed AS p
GROUP BY ALL
UNION ALL BY NAME
SELECT p.* EXCLUDE (ended, observed, own_limit, seconds, micros), NULL AS limit_seconds,
    count(*) AS n_ended, count(*) AS n_at_risk, count(*) FILTER (WHERE observed) AS n_seen,
    sum(micros) / 1e6 AS seconds, min(p.seconds) AS first_seconds, max(p.seconds) AS last_seconds
FROM placed AS p
WHERE p.ended AND p.own_limit IS NULL
GROUP BY ALL
UNION ALL BY NAME
SELECT p.* EXCLUDE (ended, observed, own_limit, seconds, micros), l.limit_seconds,
    count(*) FILTER (WHERE p.own_limit = l.limit_seconds) AS n_ended, count(*) AS n_at_risk,
    count(*) FILTER (WHERE p.observed) AS n_seen,
    coalesce(sum(micros) FILTER (WHERE p.own_limit = l.limit_seconds), 0) / 1e6 AS seconds,
    min(p.seconds) FILTER (WHERE p.own_limit = l.limit_seconds) AS first_seconds,
    max(p.seconds) FILTER (WHERE p.own_limit = l.limit_seconds) AS last_seconds
FROM placed AS p JOIN limits AS l ON p.own_limit = l.limit_seconds OR p.seconds >= l.reached_at
WHERE p.tells
GROUP BY ALL
ORDER BY session_pk, limit_seconds
