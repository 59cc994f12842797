-- Forgets when requests started that are neither open nor in the stream; returns how many. Their
-- events went to the dead-letter stream, or were lost with it.
-- KEYS: start times, events, open records. ARGV: latest start.
if redis.call('XLEN', KEYS[2]) > 0 then return 0 end
local swept = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1000)) do
  if redis.call('HEXISTS', KEYS[3], id) == 0 then
    swept = swept + redis.call('ZREM', KEYS[1], id)
  end
end
return swept
