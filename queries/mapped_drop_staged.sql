-- grain: none: takes the staged rows away once their times are known
-- keys: none
-- columns: none
-- invariants: mapped_timed holds all of them
DROP TABLE mapped_staged
