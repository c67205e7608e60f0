-- grain: one row per command (a process over its launch and polls)
-- keys: call_pk of the launch
-- columns: as commands; approval_seconds, which only calls and pauses know; zero_inflated: its clock cannot be trusted;
--   did_not_run: it is no duration
-- invariants: as many rows as commands
CREATE OR REPLACE TEMP VIEW unit_rows AS
SELECT *, CAST(NULL AS DOUBLE) AS approval_seconds, wall_zero_inflated AS zero_inflated,
    end_kind = 'refused' AS did_not_run
FROM commands
