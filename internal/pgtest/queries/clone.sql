-- Writes the statement that makes a copy of a database. Copying files is faster than
-- logging pages, and the only way before version 15.
SELECT
	format('CREATE DATABASE %I TEMPLATE %I', $1::text, $2::text)
	|| CASE WHEN current_setting('server_version_num')::integer >= 150000 THEN ' STRATEGY file_copy' ELSE '' END
