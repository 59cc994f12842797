-- Returns the batch of refused requests to post: what is left of one, or all that waits as a new one.
-- KEYS: the counts, the batch. ARGV: the id of a new batch.
if redis.call('EXISTS', KEYS[2]) == 0 then
  if redis.call('EXISTS', KEYS[1]) == 0 then
    return {}
  end
  redis.call('RENAME', KEYS[1], KEYS[2])
  redis.call('HSET', KEYS[2], 'id', ARGV[1])
end
return redis.call('HGETALL', KEYS[2])
