-- version: how far the migrations have come.
SELECT version
FROM heyaira_loop.schema_version;
