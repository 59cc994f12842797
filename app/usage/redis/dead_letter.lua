-- Moves entries of the event stream to the dead-letter stream.
-- If another consumer moved an entry in the meantime, it is not moved again. An entry that was
-- deleted while it was pending is reported to one consumer only, which moves what is known of it.
-- KEYS: events, dead letters. ARGV: group, then entry id, event, reason and 'deleted' or '' for each.
for at = 2, #ARGV, 4 do
  local id, event, reason, deleted = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local existed = redis.call('XDEL', KEYS[1], id)
  redis.call('XACK', KEYS[1], ARGV[1], id)
  if existed == 1 or deleted == 'deleted' then
    redis.call('XADD', KEYS[2], '*', 'event', event, 'reason', reason, 'entry_id', id)
  end
end
