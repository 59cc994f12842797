-- Counts a failure of a vendor entry, and opens its circuit after a number of failures in a row.
-- Returns the number of failures.
-- KEYS: the count, open circuits. ARGV: vendor entry, lifetime of the count in s, threshold, the time
-- until which the circuit opens.
local failures = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
if failures >= tonumber(ARGV[3]) then
  redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
end
return failures
