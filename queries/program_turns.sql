-- grain: one row per ({keys}, unit, session, developer, number of rounds)
-- keys: {keys}, unit, session_pk, developer_id, turns
-- columns: n (programs with so many rounds), n_open (those that ran when the log ended), n_unanswered (those whose log
--   ends on a result), n_subagents, n_asked (rounds that a message of the user began), micros (from first to last stamp, summed)
-- sums are of whole microseconds, so that they do not depend on the order in which threads add
-- invariants: n sums to the programs within {where}; n_open <= n; turns >= 1; ids are hashes and mean nothing outside one
--   result
SELECT
    {keys}, unit, session_pk, hash(developer) AS developer_id, turns, count(*) AS n,
    count(*) FILTER (WHERE is_open) AS n_open, count(*) FILTER (WHERE is_unanswered) AS n_unanswered,
    count(*) FILTER (WHERE is_subagent) AS n_subagents,
    CAST(sum(n_asked) AS BIGINT) AS n_asked,
    CAST(coalesce(sum(greatest(date_diff('microsecond', started_at, ended_at), 0)), 0) AS BIGINT) AS micros
FROM programs
WHERE {where}
GROUP BY ALL
ORDER BY session_pk, turns
