-- Joins the stream of a hub's messages. Its epoch ends with this process of Redis: a restarted one may have lost the last
-- messages, and would assign their offsets again.
-- KEYS: state of the stream, the stream. ARGV: run_id of Redis.
-- Returns the epoch, the last offset, the number of stored messages, and the time in ms.
local now = redis.call('TIME')
if redis.call('HGET', KEYS[1], 'run') ~= ARGV[1] then
  local before = tonumber(redis.call('HGET', KEYS[1], 'epoch') or '0')
  local epoch = math.max(now[1] * 1000000 + now[2], before + 1)
  redis.call('DEL', KEYS[1], KEYS[2])
  redis.call('HSET', KEYS[1], 'run', ARGV[1], 'epoch', string.format('%.0f', epoch), 'at', '0', 'size', '0')
end
local known = redis.call('HMGET', KEYS[1], 'epoch', 'at')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
return {known[1], known[2], redis.call('XLEN', KEYS[2]), string.format('%.0f', ms)}
