-- grain: one row per step (a round that is no copy) of a session, in order: what replay, occupancy and the simulator need
-- keys: session_pk, place (1, 2, ... within the session)
-- columns: whose step it is (started_at and project are the session's); pooled, the key that is the same everywhere; the tokens of its prompt (prefix: of the session's earlier context; append: new) and of its
--   output, null where the log does not say; submitted_at, from when the engine could work on it, and generation_seconds
--   from then to its last output (null where unknown); then the pause after it, last output to the submission of the next
--   step, in two parts that add up to it: tool_seconds and human_seconds (a message that was waited for, a tool that asks a
--   person, and a lost result that only a message of the user ended); kind (tool, human, none: the next step follows by
--   itself, end: no next step); pause_known (false where calls have no usable stamps, so that 0 stands for unknown); the
--   key, limit and end of the pause; n_calls
-- invariants: tool_seconds and human_seconds are never negative or null; both are 0 where kind is end or none; kind is
--   human exactly where human_seconds > 0 or a tool asked a person; a session's last step is its only end
-- needs: the table session_steps of sessions_steps.sql
CREATE OR REPLACE TEMP TABLE sequence AS
WITH step AS (
    SELECT s.session_pk, s.round_pk, s.place, s.provider, s.developer, s.session, s.project, s.started_at, s.request, s.input_at AS submitted_at, s.last_output, s.generation_seconds,
        TRY_CAST(s.prefix_tokens AS BIGINT) AS prefix_tokens, TRY_CAST(s.append_tokens AS BIGINT) AS append_tokens,
        TRY_CAST(s.output_tokens AS BIGINT) AS output_tokens,
        lead(s.round_pk) OVER of_session IS NULL AS is_last,
        lead(s."trigger") OVER of_session AS next_trigger,
        lead(s.trigger_at) OVER of_session AS next_message
    FROM session_steps AS s
    WHERE s.rule = 'tracestat'
    WINDOW of_session AS (PARTITION BY s.session_pk ORDER BY s.place)
),
paused AS (
    SELECT s.*, r.model, p.tool, p.tool_class, p.command_class, p.command_skeleton, p.end_kind, p.observed,
        p.asked_limit_seconds, p.seconds, p.is_subagent, coalesce(p.n_calls, 0) AS n_calls,
        s.next_trigger IS NOT DISTINCT FROM 'user_message' AS message_follows,
        coalesce(p.tool_class = 'human', FALSE) OR coalesce(p.end_kind = 'lost', FALSE)
            AND s.next_trigger IS NOT DISTINCT FROM 'user_message' AS is_asked
    FROM step AS s
    JOIN rounds AS r ON r.round_pk = s.round_pk
    LEFT JOIN pauses AS p ON p.round_pk = s.round_pk
),
parted AS (
    SELECT *,
        CASE WHEN NOT is_last AND NOT is_asked THEN greatest(coalesce(seconds, 0), 0) ELSE 0 END AS tool_seconds,
        CASE WHEN is_last THEN 0 ELSE
            CASE WHEN is_asked THEN greatest(coalesce(seconds, 0), 0) ELSE 0 END
            + CASE WHEN message_follows THEN greatest(coalesce(date_diff('microsecond', last_output, next_message) / 1e6
                - greatest(coalesce(seconds, 0), 0), 0), 0) ELSE 0 END
        END AS human_seconds
    FROM paused
)
SELECT session_pk, place, round_pk, provider, developer, session, project, model, started_at, TRUE AS pooled, request,
    prefix_tokens, append_tokens, output_tokens, submitted_at, last_output, generation_seconds, tool_seconds, human_seconds,
    CASE WHEN is_last THEN 'end' WHEN is_asked OR human_seconds > 0 THEN 'human' WHEN n_calls > 0 THEN 'tool' ELSE 'none' END
        AS kind,
    is_last OR n_calls = 0 OR seconds IS NOT NULL AS pause_known,
    tool, tool_class, command_class, command_skeleton, asked_limit_seconds, end_kind, observed, is_subagent, n_calls
FROM parted
