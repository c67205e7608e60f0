-- a source that was read to its end
INSERT INTO sources BY NAME
SELECT $source_id AS source_id, $source AS "source", $format AS format, $sha256 AS sha256, $bytes AS bytes,
    $path_key AS path_key, $developer AS developer, $first_round_pk AS first_round_pk, $last_round_pk AS last_round_pk,
    $rows_read AS rows_read, $rows_kept AS rows_kept, $rows_rejected AS rows_rejected,
    $calls_rejected AS calls_rejected, $events_rejected AS events_rejected, $rows_repaired AS rows_repaired,
    $note AS note
