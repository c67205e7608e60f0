-- what comes out of a trace may not open anything: no file, no network, no extension
SET enable_external_access = false
