-- effect: an intent as it stands.
SELECT state, kind, item_id, fence, target::text, evidence::text, tries
FROM heyaira_loop.effect_intent
WHERE effect_key = $1::text;
