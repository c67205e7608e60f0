-- the keys of the rounds of a DuckDB file, in its own order
SELECT round_pk FROM rounds
