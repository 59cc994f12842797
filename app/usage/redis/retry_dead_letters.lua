-- Moves dead letters back to the event stream, so that each is in one of the two streams at any
-- time. An entry is again as it was, with what budgets were charged. Returns the ids of those that
-- existed.
-- KEYS: dead letters, events. ARGV: ids.
local moved = {}
for _, id in ipairs(ARGV) do
  local found = redis.call('XRANGE', KEYS[1], id, id)[1]
  if found then
    local entry, is_event = {}, false
    for i = 1, #found[2], 2 do
      local name = found[2][i]
      is_event = is_event or name == 'event'
      if name == 'event' or name == 'charged' then
        entry[#entry + 1], entry[#entry + 2] = name, found[2][i + 1]
      end
    end
    if is_event then redis.call('XADD', KEYS[2], '*', unpack(entry)) end
    redis.call('XDEL', KEYS[1], id)
    moved[#moved + 1] = id
  end
end
return moved
