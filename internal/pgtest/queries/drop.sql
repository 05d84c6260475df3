-- Writes the statement that drops a database, whoever is still connected to it.
SELECT format('DROP DATABASE IF EXISTS %I WITH (FORCE)', $1::text)
