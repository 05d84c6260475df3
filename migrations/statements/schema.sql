-- schema: the version table stands in it, so it is there before the first migration.
CREATE SCHEMA heyaira_loop;
