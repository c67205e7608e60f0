-- TraceLab's table of where the rows came from; base names only
INSERT INTO trace_source SELECT "source" FROM sources ORDER BY source_id
