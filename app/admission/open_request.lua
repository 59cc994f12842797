-- Gives a request the next number of its process, and writes its open record with that number.
-- `last` is the last number that the process knows: Redis may have lost its own.
-- Returns the number.
local function open_request(open, given, id, record, process, last)
  local number = math.max(tonumber(redis.call('HGET', given, process) or 0), tonumber(last)) + 1
  redis.call('HSET', given, process, number)
  redis.call('HSET', open, id, '{"number":' .. number .. ',' .. string.sub(record, 2))
  return number
end
