-- Adds a process's report of refused requests, once.
-- KEYS: the counts, the process's last report. ARGV: the report's number, how long to remember it in
-- s, the most kinds; then for each kind its field, the field if there is no room, and the number.
if redis.call('GET', KEYS[2]) == ARGV[1] then
  return 0
end
for at = 4, #ARGV, 3 do
  local field = ARGV[at]
  if redis.call('HEXISTS', KEYS[1], field) == 0
    and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then
    field = ARGV[at + 1]
  end
  redis.call('HINCRBY', KEYS[1], field, ARGV[at + 2])
end
redis.call('SET', KEYS[2], ARGV[1], 'EX', ARGV[2])
return 1
