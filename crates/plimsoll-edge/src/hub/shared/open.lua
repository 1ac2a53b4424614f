-- Joins the order of a hub's messages, which lives as long as this process of Redis: one that begins again may have forgotten
-- the last of them, and would give their numbers to others.
-- KEYS: what is known of the order, the order. ARGV: this process of Redis.
-- Answers its life, its last place, how many messages are still there, and the time in ms.
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
