-- Has a full Redis run this script. Redis refuses a script's first write if it is one that may need
-- memory, and nothing after a write that needs none. The key does not exist. Only for scripts whose
-- keys are bounded in number and size, because they may exceed `maxmemory` by as much.
redis.call('DEL', 'usage:none')
