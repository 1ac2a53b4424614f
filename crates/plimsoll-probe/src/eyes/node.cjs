// Lets Plimsoll see how busy the event loop of this process is. Load it before the application:
//   node --require ./plimsoll-node.cjs app.js
// It costs a timer every 20 ms and a thread that listens on /tmp/plimsoll-node-PID.sock, or on $PLIMSOLL_NODE_SOCKET.
'use strict';
const { Worker, isMainThread, workerData } = require('node:worker_threads');

const EVERY_MS = 20;
// What the loop writes and the other thread reads: a loop that is blocked tells nothing, and is seen by that.
const BEAT = 0;
const ACTIVE = 1;
const IDLE = 2;
const LATEST = 3;

function watchLoop() {
  const { performance } = require('node:perf_hooks');
  const shared = new SharedArrayBuffer(8 * 4);
  const figures = new Float64Array(shared);
  figures[BEAT] = Date.now();
  setInterval(() => {
    const now = Date.now();
    const use = performance.eventLoopUtilization();
    figures[ACTIVE] = use.active;
    figures[IDLE] = use.idle;
    figures[LATEST] = Math.max(figures[LATEST], now - figures[BEAT] - EVERY_MS);
    figures[BEAT] = now;
  }, EVERY_MS).unref();
  const path = process.env.PLIMSOLL_NODE_SOCKET || `/tmp/plimsoll-node-${process.pid}.sock`;
  new Worker(__filename, { workerData: { plimsoll: shared, path }, execArgv: [] }).unref();
}

function answer() {
  const fs = require('node:fs');
  const figures = new Float64Array(workerData.plimsoll);
  let active = 0;
  fs.rmSync(workerData.path, { force: true });
  require('node:http')
    .createServer((request, response) => {
      const since = Math.max(0, Date.now() - figures[BEAT] - EVERY_MS);
      // What it did since it was heard last is not counted yet.
      active = Math.max(active, figures[ACTIVE] + since);
      const text = JSON.stringify({
        pid: process.pid,
        active_ms: Math.round(active),
        idle_ms: Math.round(figures[IDLE]),
        delay_ms: Math.max(since, figures[LATEST]),
        memory_bytes: process.memoryUsage.rss(),
      });
      figures[LATEST] = 0;
      response.setHeader('content-length', Buffer.byteLength(text));
      response.end(text);
    })
    .on('error', (error) => console.error(`plimsoll: ${error.message}`))
    .listen(workerData.path);
}

if (isMainThread) watchLoop();
else if (workerData && workerData.plimsoll) answer();
