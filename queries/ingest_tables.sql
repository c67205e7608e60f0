-- The tables of a store: TraceLab's four with its names, types and order (v0.0.2; turn_id as text, the exit code as
-- BIGINT), the columns that only raw logs know after them, and what tracestat says about where the rows came from.
-- round_pk = ingest_seq: position of a round over all sources in their order, from 1.
CREATE TABLE rounds (
    round_pk BIGINT,
    ingest_seq BIGINT,
    provider VARCHAR,
    project VARCHAR,
    session_id VARCHAR,
    round_index BIGINT,
    round_id VARCHAR,
    model VARCHAR,
    input_tokens_total BIGINT,
    prefix_tokens BIGINT,
    newly_append_tokens BIGINT,
    claude_uncached_input_tokens BIGINT,
    claude_cache_creation_input_tokens BIGINT,
    claude_cache_read_input_tokens BIGINT,
    output_tokens BIGINT,
    current_input_event_count BIGINT,
    current_user_message_count BIGINT,
    current_tool_result_count BIGINT,
    current_user_message_chars BIGINT,
    current_tool_result_chars BIGINT,
    current_input_chars BIGINT,
    first_input_event_type VARCHAR,
    "user" VARCHAR,
    store VARCHAR,
    trace_key VARCHAR,
    turn_id VARCHAR,
    reasoning_output_tokens BIGINT
);
CREATE TABLE tool_calls (
    round_pk BIGINT,
    tool_index BIGINT,
    tool_name VARCHAR,
    tool_call_id VARCHAR,
    emitted_at TIMESTAMP,
    result_at TIMESTAMP,
    tool_wall_latency_ms BIGINT,
    tool_internal_latency_ms BIGINT,
    is_error BOOLEAN,
    input_chars BIGINT,
    result_chars BIGINT,
    continuation_of_tool_call_id VARCHAR,
    command_status VARCHAR,
    command_exit_code BIGINT,
    executables VARCHAR[],
    executable_parse_status VARCHAR,
    executable_parse_reason VARCHAR,
    command_skeleton VARCHAR,
    source_id BIGINT,
    start_kind VARCHAR,
    asked_limit_seconds DOUBLE,
    approval_seconds DOUBLE,
    permission_mode VARCHAR,
    parallel_group BIGINT,
    is_subagent BOOLEAN,
    job_ended_at TIMESTAMP,
    command_fingerprint VARCHAR
);
CREATE TABLE timing_events (
    round_pk BIGINT,
    event_index BIGINT,
    event_type VARCHAR,
    "source" VARCHAR,
    "timestamp" TIMESTAMP,
    tool_call_id VARCHAR,
    tool_index BIGINT,
    tool_name VARCHAR,
    is_error BOOLEAN,
    result_chars BIGINT,
    content_chars BIGINT
);
CREATE TABLE trace_source (path VARCHAR);
CREATE TABLE sources (
    source_id BIGINT,
    "source" VARCHAR,      -- base name for TraceLab files, format and a hash for raw logs
    format VARCHAR,
    sha256 VARCHAR,        -- of the bytes of the file, of the list of files of a folder, of the facts of a raw log
    bytes BIGINT,
    path_key VARCHAR,      -- the path, hashed with the user's key: a source at the same place is refreshed
    developer VARCHAR,     -- given by the caller for rows that name none
    first_round_pk BIGINT,
    last_round_pk BIGINT,  -- both null when the source gave no round
    rows_read BIGINT,      -- = rows_kept + rows_rejected; JSON objects of a raw log, rounds of all else
    rows_kept BIGINT,
    rows_rejected BIGINT,
    calls_rejected BIGINT,
    events_rejected BIGINT,
    rows_repaired BIGINT,
    note VARCHAR           -- what else a reader should know, for example that the file ends early
);
-- raw logs only: how far each was read, and the facts found so far (no text of the log), so that a log that has grown
-- is read on from there
CREATE TABLE raw_logs (
    source_id BIGINT,
    state VARCHAR,         -- JSON
    rest BLOB              -- what its unfinished last line says
);
CREATE TABLE raw_log_facts (source_id BIGINT, piece BIGINT, facts BLOB);
CREATE TABLE rejects (
    source_id BIGINT,
    line BIGINT,           -- line of a JSONL file or log, round_pk of a table
    part VARCHAR,          -- round, call or event; line of a raw log
    row_index BIGINT,      -- place in the row's list of calls or events, from 0; of the object in its line
    reason VARCHAR         -- never the text
);
CREATE TABLE tracestat (
    schema_version BIGINT,
    tracestat_version VARCHAR,
    created_at TIMESTAMP,
    synthetic BOOLEAN
);
CREATE TABLE tool_classes (tool VARCHAR, tool_class VARCHAR, class_rank INTEGER);
CREATE TABLE command_classes (executables VARCHAR, command_class VARCHAR);
