-- Returns two fields of a stream entry, or nothing: what the budgets are charged for a request that
-- reserved some of one. To be asked before `release`.
local function charged(reserved, id, cost)
  local taken = redis.call('HGET', reserved, id)
  if taken and string.find(taken, '"kind":"budget"', 1, true) then return 'charged', cost end
end

-- Replaces what a request reserved of its limits by what it used. Returns 1, or 0 if it reserved
-- nothing.
local function release(reserved, id, tokens, cost)
  local taken = redis.call('HGET', reserved, id)
  if not taken then return 0 end
  redis.call('HDEL', reserved, id)
  local now = now_ms()
  for _, check in ipairs(cjson.decode(taken)) do
    local key, amount = check.key, check.amount
    if check.kind == 'tokens' then
      local used, limit = level(key, check.limit, now) -- the limit may have changed since
      fill(key, limit, used + (tokens - amount) * UNITS, now)
    elseif check.kind == 'streams' then
      redis.call('SREM', key, id)
    elseif check.kind == 'budget' and redis.call('EXISTS', key) == 1 then
      redis.call('HINCRBY', key, 'reserved', whole(0 - amount)) -- no "-0"
      redis.call('HINCRBY', key, 'spent', whole(cost))
    end
  end
  return 1
end
