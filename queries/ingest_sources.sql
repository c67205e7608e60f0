-- the sources of a store, in their order
SELECT * FROM sources ORDER BY source_id
