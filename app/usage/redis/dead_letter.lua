-- Moves entries of the event stream to the dead-letter stream, with what budgets were charged.
-- If another consumer moved an entry in the meantime, it is not moved again. An entry that was
-- deleted while it was pending is reported to one consumer only, which moves what is known of it.
-- KEYS: events, dead letters. ARGV: group, then entry id, event, reason, 'deleted' or '', and what
-- budgets were charged or '', for each.
for at = 2, #ARGV, 5 do
  local id, event, reason, deleted, charged = unpack(ARGV, at, at + 4)
  local existed = redis.call('XDEL', KEYS[1], id)
  redis.call('XACK', KEYS[1], ARGV[1], id)
  if existed == 1 or deleted == 'deleted' then
    local fields = {'event', event, 'reason', reason, 'entry_id', id}
    if charged ~= '' then
      fields[7], fields[8] = 'charged', charged
    end
    redis.call('XADD', KEYS[2], '*', unpack(fields))
  end
end
