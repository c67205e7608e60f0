-- grain: one row per step of the named sessions, in order
-- keys: session_pk, place
-- columns: tokens, the two parts of the pause after the step (seconds), when the engine could begin and ended
--   (microseconds since 1970, null where unknown), generation_seconds, kind, pause_known, n_calls, model
-- invariants: those of the table sequence
-- needs: the table sequence of sequence.sql
SELECT session_pk, place, prefix_tokens, append_tokens, output_tokens, tool_seconds, human_seconds, generation_seconds,
    epoch_us(submitted_at) AS submitted_us, epoch_us(last_output) AS last_output_us, kind, pause_known, n_calls, model
FROM sequence
WHERE session_pk IN (SELECT unnest($sessions))
ORDER BY session_pk, place
