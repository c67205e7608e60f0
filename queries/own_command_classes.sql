-- grain: one row per list of executables of this trace: its class by the user's own class file
-- keys: executables (joined by blanks)
-- columns: command_class
-- invariants: lives beside the store, in this connection only
-- parameters: executables, command_class (lists of one length)
CREATE OR REPLACE TEMP TABLE own_command_classes AS
SELECT unnest(CAST($executables AS VARCHAR[])) AS executables, unnest(CAST($command_class AS VARCHAR[])) AS command_class
