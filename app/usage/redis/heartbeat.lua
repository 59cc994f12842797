-- Marks a process as live.
-- KEYS: its heartbeat. ARGV: lifetime in s.
redis.call('SET', KEYS[1], 1, 'EX', ARGV[1])
