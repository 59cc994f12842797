-- Releases reservations without an open record; returns how many. A version that did not know
-- reservations has ended their requests.
-- KEYS: open records, reservations.
local released = 0
for _, id in ipairs(redis.call('HKEYS', KEYS[2])) do
  if redis.call('HEXISTS', KEYS[1], id) == 0 then
    released = released + release(KEYS[2], id, 0, 0)
  end
end
return released
