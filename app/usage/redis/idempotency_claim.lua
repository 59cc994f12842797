-- Claims an idempotency key, unless it is known or its account has used too many.
-- Returns nil if it is claimed, otherwise what is known of it, or the seconds until the account may
-- use another key.
-- KEYS: the key, the account's keys. ARGV: claim, lifetime in s, name of the key in the account's.
local found = redis.call('GET', KEYS[1])
if found then return found end
local now = now_s()
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZCARD', KEYS[2]) >= KEYS_LIMIT and not redis.call('ZSCORE', KEYS[2], ARGV[3]) then
  local soonest = tonumber(redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2])
  return math.max(1, math.ceil(soonest - now))
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[3])
redis.call('EXPIRE', KEYS[2], STORED_S)
return false
