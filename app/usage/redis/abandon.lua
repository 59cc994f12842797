-- Replaces an open record by an entry of a stream, and releases the request's reservation.
-- Returns 1, or 0 if the record is gone: the process itself, or one of several reapers, has removed
-- it, and whoever removes a record also writes its event.
-- KEYS: open records, stream, reservations. ARGV: event id, entry, reason, tokens, cost.
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('XADD', KEYS[2], '*', 'event', ARGV[2], 'reason', ARGV[3])
release(KEYS[3], ARGV[1], tonumber(ARGV[4]), tonumber(ARGV[5]))
return 1
