-- Moves dead letters back to the event stream, so that each is in one of the two streams at any
-- time. Returns the ids of those that existed.
-- KEYS: dead letters, events. ARGV: ids.
local moved = {}
for _, id in ipairs(ARGV) do
  local found = redis.call('XRANGE', KEYS[1], id, id)[1]
  if found then
    for i = 1, #found[2], 2 do
      if found[2][i] == 'event' then
        redis.call('XADD', KEYS[2], '*', 'event', found[2][i + 1])
      end
    end
    redis.call('XDEL', KEYS[1], id)
    moved[#moved + 1] = id
  end
end
return moved
