-- Ends a request whose event is in a spool: removes its open record and its start time, and releases
-- its reservation. The event follows once Redis has room.
-- KEYS: open records, start times, reservations. ARGV: event id, tokens, cost.
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
release(KEYS[3], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]))
