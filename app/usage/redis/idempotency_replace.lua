-- Replaces what is known of an idempotency key if it is still the expected value; an empty
-- replacement deletes it. Returns 1, or 0 if the value has changed.
-- KEYS: the key, the account's keys, its answers, the sum of their bytes. ARGV: expected value,
-- replacement, lifetime in s, name of the key in the account's, its digest, bytes of the answer.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then
  redis.call('ZREM', KEYS[2], ARGV[4])
  return redis.call('DEL', KEYS[1])
end
local now, bytes = now_s(), tonumber(ARGV[6])
if bytes > 0 then
  make_room(KEYS[3], KEYS[4], bytes, now)
  redis.call('ZADD', KEYS[3], now + ARGV[3], ARGV[5] .. ' ' .. ARGV[6])
  redis.call('EXPIRE', KEYS[3], STORED_S)
  redis.call('INCRBY', KEYS[4], bytes)
  redis.call('EXPIRE', KEYS[4], STORED_S)
end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
redis.call('ZADD', KEYS[2], now + ARGV[3], ARGV[4])
redis.call('EXPIRE', KEYS[2], STORED_S)
return 1
