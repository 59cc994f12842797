-- Writes the open record of a request that was opened before, unless there is one, which may be
-- newer. No later request of its process gets its number.
-- KEYS: open records, last numbers. ARGV: event id, record, process, number.
redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
if tonumber(redis.call('HGET', KEYS[2], ARGV[3]) or 0) < tonumber(ARGV[4]) then
  redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
end
