-- Writes the statements that make a copy of a database. A copy does not inherit
-- the settings of the database it was made from, so they follow. Copying files is
-- faster than logging pages, and the only way before version 15.
SELECT statement
FROM (
	SELECT
		1 AS place,
		format('CREATE DATABASE %I TEMPLATE %I', $1::text, $2::text)
		|| CASE WHEN current_setting('server_version_num')::integer >= 150000 THEN ' STRATEGY file_copy' ELSE '' END
		AS statement
	UNION ALL
	SELECT
		2,
		format('ALTER DATABASE %I SET %I TO %L', $1::text, split_part(entry, '=', 1), substr(entry, strpos(entry, '=') + 1))
	FROM pg_catalog.pg_db_role_setting AS setting
	JOIN pg_catalog.pg_database AS origin ON origin.oid = setting.setdatabase
	CROSS JOIN unnest(setting.setconfig) AS entry
	WHERE origin.datname = $2::text AND setting.setrole = 0
) AS written
ORDER BY place
