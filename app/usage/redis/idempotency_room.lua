-- The room of an account for idempotency keys. An answer that makes room for a newer one is replaced
-- by the note that it is not stored, so that its key is still charged once.
local KEPT, NOT_KEPT = '{"state":"kept"', '{"state":"not_kept"'

local function now_s()
  local time = redis.call('TIME')
  return time[1] + time[2] / 1000000
end

local function drop_answer(digest)
  local key = 'idempotency:' .. digest
  local head = redis.call('GETRANGE', key, 0, 16383)
  if not string.find(head, '\n', 1, true) then head = redis.call('GET', key) or '' end
  local ends = string.find(head, '\n', 1, true)
  if ends and string.sub(head, 1, #KEPT) == KEPT then
    redis.call('SET', key, NOT_KEPT .. string.sub(head, #KEPT + 1, ends), 'KEEPTTL')
  end
end

local function forget(answers, sizes, members, drops)
  local freed = 0
  for _, member in ipairs(members) do
    local digest, bytes = string.match(member, '^(%x+) (%d+)$')
    freed = freed + tonumber(bytes)
    redis.call('ZREM', answers, member)
    if drops then drop_answer(digest) end
  end
  return redis.call('DECRBY', sizes, freed)
end

-- Makes room for an answer of an account, whose oldest answers give way to it.
local function make_room(answers, sizes, bytes, now)
  local expired = redis.call('ZRANGEBYSCORE', answers, '-inf', now, 'LIMIT', 0, 1000)
  local total = forget(answers, sizes, expired, false)
  while total > 0 and total + bytes > BYTES_LIMIT do
    local oldest = redis.call('ZRANGE', answers, 0, 0)
    if #oldest == 0 then return redis.call('DEL', sizes) end
    total = forget(answers, sizes, oldest, true)
  end
end
