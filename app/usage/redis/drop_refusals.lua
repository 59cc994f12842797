-- Deletes a batch of refused requests that is in the ledger. KEYS: the batch. ARGV: its id.
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
