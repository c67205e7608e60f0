-- grain: one row: the longest session by time, or the one with the latest event
-- keys: (provider, developer, session)
-- columns: project (where it has one), rounds, first_round_pk, exact (as timeline_sessions)
-- invariants: at most one row; of equals the one that comes first in the trace
-- parameters: longest (else the latest)
SELECT r.provider, r."user" AS developer, r.session_id AS session, min(r.project) AS project,
    count(DISTINCT r.round_pk) AS rounds, min(r.round_pk) AS first_round_pk, TRUE AS exact
FROM rounds AS r JOIN timing_events AS e USING (round_pk)
WHERE e."timestamp" IS NOT NULL
GROUP BY r.provider, r."user", r.session_id
ORDER BY CASE WHEN $longest THEN date_diff('microsecond', min(e."timestamp"), max(e."timestamp"))
              ELSE epoch_us(max(e."timestamp")) END DESC, first_round_pk
LIMIT 1
