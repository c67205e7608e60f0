-- grain: one row per tool call, timed by the chosen clock
-- keys: call_pk
-- columns: as calls; zero_inflated: its clock cannot be trusted; did_not_run: it is no duration;
--   ended_after: null, since every end is seen
-- invariants: as many rows as calls; seconds is null where the chosen clock says nothing
-- variables: definition (tracestat or tracelab), clock (wall, internal or effective)
CREATE OR REPLACE TEMP VIEW unit_rows AS
SELECT * REPLACE (
        CASE WHEN getvariable('definition') = 'tracelab' THEN effective_seconds
             WHEN getvariable('clock') = 'internal' THEN internal_seconds
             WHEN getvariable('clock') = 'effective' THEN coalesce(internal_seconds, seconds)
             ELSE seconds END AS seconds,
        CASE WHEN getvariable('clock') = 'internal' THEN internal_seconds IS NOT NULL ELSE observed END AS observed,
        CASE WHEN getvariable('clock') <> 'wall' AND internal_seconds IS NOT NULL THEN internal_resolution_seconds
             ELSE resolution_seconds END AS resolution_seconds),
    CASE WHEN getvariable('clock') <> 'wall' AND internal_seconds IS NOT NULL THEN internal_zero_inflated
         ELSE wall_zero_inflated END AS zero_inflated,
    end_kind = 'refused' AS did_not_run, CAST(NULL AS DOUBLE) AS ended_after
FROM calls
