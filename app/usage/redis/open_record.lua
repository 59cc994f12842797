-- Opens a request that has no limits; returns its number.
-- KEYS: open records, last numbers. ARGV: event id, record, process, its last number.
return open_request(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4])
