-- knows: has this item a receipt of this digest: the witness of a store's manifest.
-- $1 bigint item, $2 text digest.
SELECT EXISTS (
	SELECT
	FROM heyaira_loop.work_event
	WHERE item_id = $1::bigint AND digest = $2::text
);
