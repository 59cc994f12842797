-- Opens a request's record if the request fits in all its limits, and reserves what it may use.
-- KEYS: open records, reservations, last numbers. ARGV: event id, record, process, its last number,
-- checks.
-- Returns the request's number, or 0 if not all checks fit; then four numbers for each check: whether it fits; what is used,
-- and what is reserved on top of that, both including this request if it was admitted; and whether
-- the soft bound is passed.
local id, checks, now = ARGV[1], cjson.decode(ARGV[5]), now_ms()
local states, all_fit, number = {}, true, 0
for at, check in ipairs(checks) do
  local key, limit, amount = check.key, check.limit, check.amount
  local used, reserved, fits = 0, 0, true
  if check.kind == 'requests' or check.kind == 'tokens' then
    used = level_under(key, limit, now)
    fits = used + amount * UNITS <= limit * UNITS
  elseif check.kind == 'streams' then
    used = redis.call('SCARD', key)
    fits = used < limit
  else
    used, reserved = spent_of(check)
    fits = limit < 0 or (used < limit and used + reserved + amount <= limit)
  end
  all_fit = all_fit and fits
  states[at] = {fits and 1 or 0, used, reserved, 0}
end
if all_fit then
  for at, check in ipairs(checks) do
    local key, limit, amount, state = check.key, check.limit, check.amount, states[at]
    if check.kind == 'requests' or check.kind == 'tokens' then
      state[2] = state[2] + amount * UNITS
      fill(key, limit, state[2], now)
    elseif check.kind == 'streams' then
      redis.call('SADD', key, id)
      state[2] = state[2] + 1
    else
      state[3] = state[3] + amount
      redis.call('HSET', key, 'spent', whole(state[2]), 'reserved', whole(state[3]))
      store_corrections(check)
      redis.call('EXPIREAT', key, check.ends_s + AFTERWARDS_S)
      if check.soft >= 0 and state[2] + state[3] > check.soft then
        state[4] = 1 + redis.call('HSETNX', key, 'warned', 1)
      end
    end
  end
  redis.call('HSET', KEYS[2], id, ARGV[5])
  number = open_request(KEYS[1], KEYS[3], id, ARGV[2], ARGV[3], ARGV[4])
end
local answer = {number}
for _, state in ipairs(states) do
  for _, number in ipairs(state) do answer[#answer + 1] = number end
end
return answer
