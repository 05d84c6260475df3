-- Writes the statement that makes an empty database.
SELECT format('CREATE DATABASE %I', $1::text)
