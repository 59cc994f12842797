-- Acknowledges and deletes stream entries, forgets when their requests started, and counts them.
-- A script, not a transaction: a full Redis lets a script continue that has made room, but would
-- reject the last command of a transaction, and with it all of them.
-- KEYS: events, start times, count of posted entries. ARGV: group, number of entry ids, entry ids,
-- event ids.
local count = tonumber(ARGV[2])
redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 3, 2 + count))
redis.call('XDEL', KEYS[1], unpack(ARGV, 3, 2 + count))
if #ARGV > 2 + count then
  redis.call('ZREM', KEYS[2], unpack(ARGV, 3 + count))
end
redis.call('INCRBY', KEYS[3], count)
