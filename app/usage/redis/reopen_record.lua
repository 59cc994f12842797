-- Writes the open record of a request that was opened before, unless there is one, which may be
-- newer. One with another number is replaced: Redis had opened the request without its process
-- learning of it, which then gave it a number itself. No later request of its process gets its number.
-- KEYS: open records, start times, last numbers. ARGV: event id, record, start, process, number.
local known = redis.call('HGET', KEYS[1], ARGV[1])
local is_json, record = pcall(cjson.decode, known or '')
if not known or (is_json and (record.number or 0) ~= tonumber(ARGV[5])) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
if tonumber(redis.call('HGET', KEYS[3], ARGV[4]) or 0) < tonumber(ARGV[5]) then
  redis.call('HSET', KEYS[3], ARGV[4], ARGV[5])
end
