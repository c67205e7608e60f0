-- grain: none: a table of tool calls tells nothing of requests
-- keys: row
-- columns: as mapped_arrivals
-- invariants: empty
CREATE TABLE mapped_arrival ("row" BIGINT, user_us BIGINT, text_us BIGINT)
