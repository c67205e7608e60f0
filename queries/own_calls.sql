-- grain: as the table calls of the store, in front of which this copy stands for one connection
-- keys: as calls
-- columns: as calls, with the classes of the user's own class file
-- invariants: as many rows as the table of the store; needs own_tools and own_commands
CREATE OR REPLACE TEMP TABLE calls AS
SELECT d.* REPLACE (t.tool_class AS tool_class, x.command_class AS command_class)
FROM calls AS d
LEFT JOIN own_tools AS t ON t.tool IS NOT DISTINCT FROM d.tool
LEFT JOIN own_commands AS x ON x.executables = d.executables
