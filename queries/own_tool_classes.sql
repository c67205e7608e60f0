-- grain: one row per tool of this trace: its class by the user's own class file
-- keys: tool
-- columns: tool_class
-- invariants: lives beside the store, in this connection only
-- parameters: tool, tool_class (lists of one length)
CREATE OR REPLACE TEMP TABLE own_tool_classes AS
SELECT unnest(CAST($tool AS VARCHAR[])) AS tool, unnest(CAST($tool_class AS VARCHAR[])) AS tool_class
