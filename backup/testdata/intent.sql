-- intent: how the one intent of the ledger stands.
SELECT state FROM heyaira_loop.effect_intent
