-- Opens a request that has no limits; returns its number.
-- KEYS: open records, start times, last numbers. ARGV: event id, record, start, process, its last
-- number.
return open_request(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5])
