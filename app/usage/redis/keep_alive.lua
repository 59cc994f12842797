-- Marks a process as live.
-- KEYS: heartbeat. ARGV: value, lifetime in s.
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
