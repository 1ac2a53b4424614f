// Stands beside StatsD, as a backend and before its program: tells what it received, and flushes when the test says so
// instead of after some time.
'use strict';

const path = require('path');

const later = global.setTimeout;
let flush;
global.setTimeout = (then, ...rest) => {
  if (then.name === 'flushMetrics') {
    flush = then;
    return undefined;
  }
  return later(then, ...rest);
};

const say = (message) => process.stdout.write(JSON.stringify(message) + '\n');

exports.init = (startup, config, events) => {
  const statsd = path.dirname(process.argv[1]);
  const { server } = require(path.join(statsd, 'servers/udp'));
  server.once('listening', () => say({ port: server.address().port }));
  events.on('packet', () => say({ packet: true }));
  events.on('flush', (at, metrics) => say(metrics));
  process.stdin.on('data', () => flush());
  // The test has ended.
  process.stdin.on('end', () => process.exit());
  return true;
};
