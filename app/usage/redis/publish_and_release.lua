-- Appends the event of a request that reserved some of its limits, removes its open record, and
-- releases the reservation. If one of the limits is a budget, the stream entry holds what the
-- budget was charged, which may differ from what the ledger will compute.
-- KEYS: events, open records, reservations. ARGV: event, event id, tokens, cost.
redis.call('XADD', KEYS[1], '*', 'event', ARGV[1], charged(KEYS[3], ARGV[2], ARGV[4]))
redis.call('HDEL', KEYS[2], ARGV[2])
release(KEYS[3], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]))
