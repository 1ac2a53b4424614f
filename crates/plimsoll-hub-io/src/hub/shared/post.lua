-- Appends a message at the next offset of the stream.
-- KEYS: state of the stream, the stream. ARGV: epoch, channel, data, maximum number and bytes of stored messages.
-- Returns the offset.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then
  return redis.error_reply('LIFE the stream was replaced by another')
end
local function size(channel, data)
  return #channel + #data + 100
end
local now = redis.call('TIME')
local place = redis.call('HINCRBY', KEYS[1], 'at', 1)
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('XADD', KEYS[2], string.format('%.0f-1', place),
  'e', ARGV[1], 't', string.format('%.0f', ms), 'c', ARGV[2], 'd', ARGV[3])
local bytes = redis.call('HINCRBY', KEYS[1], 'size', size(ARGV[2], ARGV[3]))
local count = redis.call('XLEN', KEYS[2])
while count > tonumber(ARGV[4]) or (count > 1 and bytes > tonumber(ARGV[5])) do
  local oldest = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
  redis.call('XDEL', KEYS[2], oldest[1])
  bytes = redis.call('HINCRBY', KEYS[1], 'size', -size(oldest[2][6], oldest[2][8]))
  count = count - 1
end
return string.format('%.0f', place)
