-- Appends an event and removes its open record.
-- KEYS: events, open records. ARGV: event, event id.
redis.call('XADD', KEYS[1], '*', 'event', ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[2])
