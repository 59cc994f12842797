-- Returns the heartbeats of processes. First deletes a key that nothing reads: a replica rejects
-- that write. On a former primary every process would seem to have crashed.
-- KEYS: the key that nothing reads, then one for each process.
redis.call('DEL', KEYS[1])
return redis.call('MGET', unpack(KEYS, 2))
