-- What is spent of a budget, from what Redis and the ledger know. A budget that does not exist yet
-- knows of no corrections; -1 of them means that the ledger has not answered.
local function spent_of(check)
  local known = redis.call('HMGET', check.key, 'spent', 'reserved', 'corrections', 'corrected')
  local spent, corrections = tonumber(known[1] or 0), tonumber(known[3] or 0)
  if check.corrections > corrections then
    spent = math.max(0, spent + check.corrected - tonumber(known[4] or 0))
  end
  if check.corrections >= corrections then
    spent = math.max(spent, check.spent)
  end
  return spent, tonumber(known[2] or 0)
end

local function store_corrections(check)
  if check.corrections > tonumber(redis.call('HGET', check.key, 'corrections') or 0) then
    redis.call('HSET', check.key, 'corrections', check.corrections, 'corrected', check.corrected)
  end
end
