-- Writes the open record of a request that was opened before, unless there is one, which may be
-- newer. One with another number is replaced: Redis had opened the request without its process
-- learning of it, which then gave it a number itself. No later request of its process gets its number.
-- KEYS: open records, last numbers. ARGV: event id, record, process, number.
local known = redis.call('HGET', KEYS[1], ARGV[1])
local _, record = pcall(cjson.decode, known or '')
local number = type(record) == 'table' and record.number or 0
if not known or (type(record) == 'table' and number ~= tonumber(ARGV[4])) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
if tonumber(redis.call('HGET', KEYS[2], ARGV[3]) or 0) < tonumber(ARGV[4]) then
  redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
end
