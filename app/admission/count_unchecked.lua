-- Counts requests that were served without a check of their limits.
-- KEYS: the counts. ARGV: lifetime in s, then reason and number for each reason.
for at = 2, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[1], ARGV[at], ARGV[at + 1])
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
