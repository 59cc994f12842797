-- Replaces open records. One that was removed in the meantime must not come back.
-- KEYS: open records. ARGV: event id and record, for each.
for i = 1, #ARGV, 2 do
  if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1 then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
