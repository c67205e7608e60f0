-- grain: one row: the longest session by time, or the one with the latest event
-- keys: (provider, developer, session)
-- columns: project (where it has one), rounds, first_round_pk, exact (as timeline_sessions)
-- invariants: at most one row; of equals the one that comes first in the trace
-- parameters: longest (else the latest)
WITH span AS (
    SELECT round_pk, min("timestamp") AS began, max("timestamp") AS ended
    FROM timing_events
    WHERE "timestamp" IS NOT NULL
    GROUP BY round_pk
)
SELECT r.provider, r."user" AS developer, r.session_id AS session, min(r.project) AS project,
    count(*) AS rounds, min(r.round_pk) AS first_round_pk, TRUE AS exact
FROM rounds AS r JOIN span AS s USING (round_pk)
GROUP BY r.provider, r."user", r.session_id
ORDER BY CASE WHEN $longest THEN date_diff('microsecond', min(s.began), max(s.ended))
              ELSE epoch_us(max(s.ended)) END DESC, first_round_pk
LIMIT 1
