-- grain: one row per command (a process over its launch and polls)
-- keys: call_pk of the launch
-- columns: as commands; zero_inflated: its clock cannot be trusted; did_not_run: it is no duration
-- invariants: as many rows as commands
CREATE OR REPLACE TEMP VIEW unit_rows AS
SELECT *, wall_zero_inflated AS zero_inflated, end_kind = 'refused' AS did_not_run FROM commands
