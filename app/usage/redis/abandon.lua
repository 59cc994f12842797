-- Replaces an open record by an entry of a stream, and releases the request's reservation. If one of
-- its limits is a budget, the entry holds what the budget was charged: if the request's own event
-- follows, the ledger corrects the budget.
-- Returns 1, or 0 if the record is gone: the process itself, or one of several reapers, has removed
-- it, and whoever removes a record also writes its event.
-- KEYS: open records, stream, reservations. ARGV: event id, entry, reason, tokens, cost.
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
local entry, reason = ARGV[2], ARGV[3]
redis.call(
  'XADD', KEYS[2], '*', 'event', entry, 'reason', reason, charged(KEYS[3], ARGV[1], ARGV[5])
)
release(KEYS[3], ARGV[1], tonumber(ARGV[4]), tonumber(ARGV[5]))
return 1
