// Lets Plimsoll see how busy the event loop of this process is, how long libuv's threads let tasks wait, and how many requests
// wait for a connection of an http.Agent. Load it before the application:
//   node --require ./plimsoll-node.cjs app.js
// It costs a timer every 20 ms, a task of libuv's pool every 100 ms, and a thread that listens on
// /tmp/plimsoll-node-PID.sock, or on $PLIMSOLL_NODE_SOCKET.
'use strict';
const { Worker, isMainThread, workerData } = require('node:worker_threads');

const EVERY_MS = 20;
const TASK_EVERY_MS = 100;
// Agents that are looked at; of more, the rest is not.
const AGENTS_MAX = 64;
// What the loop writes and the other thread reads: a loop that is blocked tells nothing, and is seen by that.
const BEAT = 0;
const ACTIVE = 1;
const IDLE = 2;
const LATEST = 3;
const AGENT_USED = 4;
const AGENT_WAITING = 5;
const AGENT_LIMIT = 6;
const FIGURES = 7;

const count = (lists) => Object.values(lists).reduce((all, list) => all + list.length, 0);

// Every agent that a request is given to is known from then on, as long as it lives.
function watchAgents() {
  const { Agent } = require('node:http');
  const add = Agent.prototype.addRequest;
  const known = new WeakSet();
  let agents = [];
  if (typeof add !== 'function') return () => {};
  Agent.prototype.addRequest = function addRequest(...request) {
    if (!known.has(this) && agents.length < AGENTS_MAX) {
      known.add(this);
      agents.push(new WeakRef(this));
    }
    return add.apply(this, request);
  };
  return (figures) => {
    agents = agents.filter((agent) => agent.deref());
    let [used, waiting, limit] = [0, 0, 0];
    for (const agent of agents.map((agent) => agent.deref())) {
      const own = count(agent.requests);
      const limited = Math.min(agent.maxTotalSockets ?? Infinity, agent.maxSockets * Object.keys(agent.sockets).length);
      if (!Number.isFinite(limited) || own < waiting) continue;
      [used, waiting, limit] = [count(agent.sockets), own, limited];
    }
    figures[AGENT_USED] = used;
    figures[AGENT_WAITING] = waiting;
    figures[AGENT_LIMIT] = limit;
  };
}

function watchLoop() {
  const { performance } = require('node:perf_hooks');
  const shared = new SharedArrayBuffer(FIGURES * 8);
  const figures = new Float64Array(shared);
  const lookAtAgents = watchAgents();
  figures[BEAT] = Date.now();
  setInterval(() => {
    const now = Date.now();
    const use = performance.eventLoopUtilization();
    figures[ACTIVE] = use.active;
    figures[IDLE] = use.idle;
    figures[LATEST] = Math.max(figures[LATEST], now - figures[BEAT] - EVERY_MS);
    figures[BEAT] = now;
    lookAtAgents(figures);
  }, EVERY_MS).unref();
  const path = process.env.PLIMSOLL_NODE_SOCKET || `/tmp/plimsoll-node-${process.pid}.sock`;
  new Worker(__filename, { workerData: { plimsoll: shared, path }, execArgv: [] }).unref();
}

// All threads of a process share libuv's pool: a task given to it here waits as long as those of the application.
function watchPool() {
  const { access } = require('node:fs');
  const { performance } = require('node:perf_hooks');
  let longest = 0;
  let begun = null;
  setInterval(() => {
    if (begun !== null) return;
    begun = performance.now();
    access('/', () => {
      longest = Math.max(longest, performance.now() - begun);
      begun = null;
    });
  }, TASK_EVERY_MS).unref();
  return () => {
    const wait = Math.max(longest, begun === null ? 0 : performance.now() - begun);
    longest = 0;
    return wait;
  };
}

function answer() {
  const fs = require('node:fs');
  const figures = new Float64Array(workerData.plimsoll);
  const poolWait = watchPool();
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
        pool_wait_ms: poolWait(),
        pool_threads: Number(process.env.UV_THREADPOOL_SIZE) || 4,
        agent_used: figures[AGENT_USED],
        agent_waiting: figures[AGENT_WAITING],
        agent_limit: figures[AGENT_LIMIT],
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
