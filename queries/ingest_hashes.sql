-- what a store was made of, in its order
SELECT sha256 FROM sources ORDER BY source_id
