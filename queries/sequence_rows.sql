-- grain: one row per step of the chosen sessions, in order
-- keys: session_pk, place
-- columns: those of the table sequence (sequence.sql), the keys of whole sessions among them
-- invariants: whole sessions: {where} speaks of what a session has once
SELECT *
FROM sequence
WHERE {where}
ORDER BY session_pk, place
