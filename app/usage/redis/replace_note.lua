-- Replaces a value if it is still the expected one; an empty replacement deletes it. Returns 1, or
-- 0 if the value has changed.
-- KEYS: the idempotency key. ARGV: expected value, replacement, lifetime in s.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1
