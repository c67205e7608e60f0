-- grain: one row per tool of this trace: its class by the user's own class file
-- keys: tool
-- columns: tool_class
-- invariants: lives beside the store, in this connection only
-- parameters: tool, tool_class (lists of one length)
CREATE OR REPLACE TEMP TABLE own_tools AS SELECT unnest($tool) AS tool, unnest($tool_class) AS tool_class
