-- Writes an open record, and when its request started.
-- KEYS: open records, start times. ARGV: event id, record, start.
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
