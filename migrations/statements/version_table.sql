-- version_table: has any migration been here.
SELECT to_regclass('heyaira_loop.schema_version') IS NOT NULL;
