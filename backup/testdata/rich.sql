-- rich: a database with some of everything that a dump has to carry.
CREATE EXTENSION citext;
CREATE EXTENSION hstore;
CREATE SCHEMA shop;
COMMENT ON SCHEMA shop IS 'orders; and "quotes"';
CREATE TYPE shop.mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN shop.price AS numeric(12, 2) CHECK (VALUE >= 0);
CREATE TYPE shop.spot AS (x integer, y integer);
CREATE SEQUENCE shop.ticket START 100 INCREMENT 7;
SELECT nextval('shop.ticket'), nextval('shop.ticket');
CREATE UNLOGGED SEQUENCE shop.loose;
SELECT nextval('shop.loose');

CREATE TABLE shop.customer (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	email    citext NOT NULL UNIQUE,
	mood     shop.mood DEFAULT 'ok',
	tags     text[] NOT NULL DEFAULT '{}',
	extra    hstore,
	place    shop.spot,
	document jsonb,
	photo    bytea,
	joined   timestamptz NOT NULL DEFAULT '2026-01-02 03:04:05+00',
	CONSTRAINT customer_email CHECK (email LIKE '%@%')
);
COMMENT ON TABLE shop.customer IS 'who buys';
COMMENT ON COLUMN shop.customer.mood IS E'line one\nline two';
INSERT INTO shop.customer (email, mood, tags, extra, place, document, photo)
SELECT
	'user' || n || '@example.org',
	(ARRAY['sad', 'ok', 'happy'])[1 + n % 3]::shop.mood,
	ARRAY['tag ' || n, 'näïve', 'quote"d', 'back\slash', ''],
	hstore('n', n::text),
	(n, -n)::shop.spot,
	jsonb_build_object('n', n, 'nested', jsonb_build_array(NULL, true, n / 3.0), 'text', repeat('ü', n % 50)),
	sha256(n::text::bytea)
FROM generate_series(1, 500) AS n;
INSERT INTO shop.customer (email, document) VALUES ('null@example.org', NULL);

CREATE TABLE shop.line (
	item  text NOT NULL,
	count integer NOT NULL,
	each  shop.price NOT NULL,
	total numeric GENERATED ALWAYS AS (count * each) STORED,
	at    date NOT NULL
) PARTITION BY RANGE (at);
CREATE TABLE shop.line_2025 PARTITION OF shop.line FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE TABLE shop.line_2026 PARTITION OF shop.line FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE TABLE shop.line_rest PARTITION OF shop.line DEFAULT;
CREATE INDEX line_item ON shop.line (item) INCLUDE (count);
INSERT INTO shop.line (item, count, each, at)
SELECT 'thing ' || n, n, n * 1.25, date '2024-06-01' + n
FROM generate_series(1, 1000) AS n;

CREATE UNLOGGED TABLE shop.session (token uuid PRIMARY KEY, seen inet);
INSERT INTO shop.session VALUES ('00000000-0000-4000-8000-000000000001', '10.0.0.1/8');
CREATE TABLE shop.empty ();
CREATE TABLE shop."Odd Name;" ("select" integer, "quo""te" text);
INSERT INTO shop."Odd Name;" VALUES (1, E'tab\there'), (2, E'new\nline'), (3, '\N');

CREATE FUNCTION shop.touch() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
	-- GRANT ALL ON nothing TO nobody;
	NEW.tags := NEW.tags || 'touched'::text;
	RETURN NEW;
END
$body$;
CREATE TRIGGER customer_touch BEFORE UPDATE ON shop.customer FOR EACH ROW EXECUTE FUNCTION shop.touch();
UPDATE shop.customer SET mood = 'sad' WHERE id = 7;
CREATE VIEW shop.happy AS SELECT id, email FROM shop.customer WHERE mood = 'happy';
CREATE MATERIALIZED VIEW shop.totals AS SELECT item, sum(total) AS total FROM shop.line GROUP BY item;
CREATE RULE line_rule AS ON INSERT TO shop.happy DO INSTEAD NOTHING;
ALTER TABLE shop.customer ENABLE ROW LEVEL SECURITY;
CREATE POLICY customer_all ON shop.customer USING (true);
CREATE STATISTICS shop.customer_stats (dependencies) ON email, mood FROM shop.customer;
CREATE PUBLICATION shop_publication FOR TABLE shop.line_2025;
CREATE AGGREGATE shop.product (numeric) (SFUNC = numeric_mul, STYPE = numeric, INITCOND = '1');

SELECT lo_from_bytea(424242, decode(repeat('00ff10', 2000), 'hex'));
COMMENT ON LARGE OBJECT 424242 IS 'a picture';
SELECT lo_from_bytea(424243, '');
