-- grain: as the table calls of the store, in front of which this copy stands for one connection
-- keys: as calls
-- columns: as calls, with the classes of the user's own class file
-- invariants: as many rows as the table of the store; needs own_tool_classes and own_command_classes
CREATE OR REPLACE TEMP TABLE calls AS
SELECT d.* REPLACE (t.tool_class AS tool_class, x.command_class AS command_class)
FROM calls AS d
LEFT JOIN own_tool_classes AS t ON t.tool IS NOT DISTINCT FROM d.tool
JOIN tool_calls AS c ON c.rowid = d.call_pk - 1
LEFT JOIN own_command_classes AS x ON x.executables = array_to_string(c.executables, ' ')
