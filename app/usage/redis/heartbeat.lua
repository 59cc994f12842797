-- Marks a process as live, and stores its last number if Redis has a smaller one. Returns the number
-- that Redis had; the run of the server and the epoch of its data, one of which is new after data
-- were lost; the missing numbers as the workers know them; the posted numbers of some processes.
-- KEYS: heartbeat, last numbers, epoch, missing numbers, posted numbers. ARGV: lifetime in s, value,
-- process, its last number, an epoch in case there is none, processes.
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[1])
local known = tonumber(redis.call('HGET', KEYS[2], ARGV[3]) or 0)
if known < tonumber(ARGV[4]) then redis.call('HSET', KEYS[2], ARGV[3], ARGV[4]) end
redis.call('SETNX', KEYS[3], ARGV[5])
local posted = #ARGV > 5 and redis.pcall('HMGET', KEYS[5], unpack(ARGV, 6)) or {}
local missing = redis.pcall('GET', KEYS[4])
-- A wrong type is no answer, and must not end the heartbeats.
if posted.err then posted = {} for i = 6, #ARGV do posted[i - 5] = false end end
if type(missing) == 'table' then missing = false end
local info = redis.pcall('INFO', 'server') -- an error where it is not permitted
local run = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
local memory = run .. ' ' .. redis.call('GET', KEYS[3])
return {known, memory, missing, posted}
