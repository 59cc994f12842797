-- Rates as token buckets. The keys of limits are in what a request reserved, so they cannot be
-- declared in KEYS.
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function fill(key, limit, used, now)
  used = math.min(used, limit * UNITS * DEBT_LIMIT)
  if used <= 0 then return redis.call('DEL', key) end
  local text = string.format('%.0f %.0f %.0f', used, now, limit)
  redis.call('SET', key, text, 'PX', math.ceil(used / limit))
end

-- Returns the units used by now, and the limit under which they were used.
local function level(key, limit, now)
  local used, at, of = string.match(redis.call('GET', key) or '', '^(%d+) (%d+) (%d+)$')
  if not used then return 0, limit end
  of = tonumber(of)
  return math.max(0, tonumber(used) - math.max(0, now - tonumber(at)) * of), of
end

local function level_under(key, limit, now)
  local used, of = level(key, limit, now)
  if of ~= limit then
    used = math.min(used, limit * UNITS)
    fill(key, limit, used, now)
  end
  return used
end

local function whole(number) return string.format('%.0f', number) end
