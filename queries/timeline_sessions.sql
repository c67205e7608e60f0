-- grain: one row per session that a user's words may mean
-- keys: (provider, developer, session)
-- columns: project (where it has one), rounds, first_round_pk
-- invariants: exact is true for the session itself, false where its id only begins so; an id may be written without its
--   provider (638a44 for claude:638a44), and after its developer and a slash
-- parameters: words
SELECT provider, "user" AS developer, session_id AS session, min(project) AS project, count(*) AS rounds,
    min(round_pk) AS first_round_pk,
    bool_or($words IN (session_id, right(session_id, -length(provider) - 1), concat("user", '/', session_id))) AS exact
FROM rounds
WHERE starts_with(session_id, $words)
    OR (starts_with(session_id, concat(provider, ':')) AND starts_with(right(session_id, -length(provider) - 1), $words))
    OR starts_with(concat("user", '/', session_id), $words)
GROUP BY provider, "user", session_id
ORDER BY first_round_pk
