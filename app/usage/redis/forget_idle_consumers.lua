-- Deletes idle consumers with no pending entries; returns how many.
-- One script, so that no entry is delivered to a consumer between the check and the deletion: its
-- pending entries would be deleted with it, and no other consumer would get them.
-- KEYS: events. ARGV: group, idle time in ms.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local forgotten = 0
for _, pairs_ in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local consumer = {}
  for i = 1, #pairs_, 2 do consumer[pairs_[i]] = pairs_[i + 1] end
  if consumer.pending == 0 and consumer.idle >= tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
    forgotten = forgotten + 1
  end
end
return forgotten
