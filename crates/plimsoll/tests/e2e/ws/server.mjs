// A WebSocket server that drops, duplicates, swaps, delays, refuses and dies as configured, and reports its actions.
//
// Arguments: the number of clients to wait for, and a plan as JSON:
//   publish: { when, after_ms, every_ms, count, ago_ms, lost: [[client, seq]…], doubled: …, swapped: … }
//   cut: { when, after_ms }: every connection is cut, once
//   die: { after_ms }: the server ends
//   deflate: "anew" or "kept" agrees to permessage-deflate, whose server's window begins anew or is kept
// Each begins after_ms after the counts in `when` have been reached, without it when all clients are there. A client
// that has answered the ping of its opening, or of its joining, knows that it is open, or in its room.
// Clients are numbered from 0 in the order of their coming, for each path. Paths say the rest; see `opened`.

import { readFileSync } from "node:fs";
import { createServer as createPlain } from "node:http";
import { createServer as createSecure } from "node:https";
import { WebSocketServer } from "ws";

const wanted = Number(process.argv[2]);
const plan = JSON.parse(process.argv[3] ?? "{}");
const counts = { opened: 0, received: 0, bytes: 0, sent: 0, deflated: 0, pongs: 0, polls: 0, published: 0, late_ms: 0 };
Object.assign(counts, { closed: {}, cookies: [], protocols: [], last_ids: [] });
const channels = new Map();

const streams = new Set();

// By how much this process is late at most for what is due: it has no CPU then.
function watchTime() {
  const every_ms = 50;
  let last = Date.now();
  setInterval(() => {
    counts.late_ms = Math.max(counts.late_ms, Date.now() - last - every_ms);
    last = Date.now();
  }, every_ms);
}

// Who asks for the counts when its clients have ended is told what the last of them did, too.
const waiting = [];

const tell = (request, response) => {
  if (request.url.startsWith("/events")) return stream(request, response);
  if (request.url.startsWith("/poll") || request.url.startsWith("/wait")) return poll(request, response);
  if (request.url === "/counts") {
    waiting.push(response);
    return left();
  }
  if (request.url === "/login") response.setHeader("Set-Cookie", "sid=abc; Path=/");
  response.end(JSON.stringify(counts));
};

function left() {
  if (server.clients.size + streams.size > 0) return;
  waiting.splice(0).forEach((response) => response.end(JSON.stringify(counts)));
}
// With a certificate and its key in one file, it speaks TLS.
const pem = process.env.SERVER_PEM && readFileSync(process.env.SERVER_PEM);
const http = pem ? createSecure({ cert: pem, key: pem }, tell) : createPlain(tell);
const server = new WebSocketServer({
  server: http,
  perMessageDeflate: plan.deflate ? { serverNoContextTakeover: plan.deflate === "anew", threshold: 0 } : false,
  verifyClient: (info, answer) => answer(!info.req.url.startsWith("/refused"), 403),
  handleProtocols: (offered) => (offered.has("live.v1") ? "live.v1" : false),
});
server.on("headers", (lines) => lines.push("Set-Cookie: seat=12; Path=/"));

function send(socket, text) {
  counts.sent += 1;
  socket.send(text);
}

// The stamp of a message in the unit that the path names.
function stamp(path, ago_ms) {
  const now_ms = Date.now() - ago_ms;
  if (path.startsWith("/us")) return now_ms * 1e3;
  if (path.startsWith("/ns")) return `${BigInt(now_ms) * 1000000n}`;
  if (path.startsWith("/s")) return now_ms / 1e3;
  return now_ms;
}

// What was published, and who waits for more.
const messages = [];
const polling = [];

// Whoever polls gets what is newer than `since`: from /poll at once, from /wait when there is something, or nothing after
// five seconds.
function poll(request, response) {
  const url = new URL(request.url, "http://server");
  const since = Number(url.searchParams.get("since") ?? 0);
  const answer = () => {
    if (response.writableEnded) return;
    const items = messages.filter(({ seq }) => seq > since);
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ items, last: items.at(-1)?.seq ?? since }));
  };
  counted("polls");
  if (url.pathname === "/poll" || messages.some(({ seq }) => seq > since)) return answer();
  polling.push(answer);
  setTimeout(answer, 5000);
}

function publish(rules) {
  const has = (list, client, seq) => (list ?? []).some(([c, s]) => c === client && s === seq);
  let seq = 0;
  const timer = setInterval(() => {
    seq += 1;
    messages.push({ seq, at: stamp("", rules.ago_ms ?? 0) });
    polling.splice(0).forEach((answer) => answer());
    for (const [path, clients] of channels) {
      const text = JSON.stringify({ data: { seq, at: stamp(path, rules.ago_ms ?? 0) }, filler: "x".repeat(100) });
      clients.forEach((client, number) => {
        if (has(rules.lost, number, seq)) return;
        // It follows the next one.
        if (has(rules.swapped, number, seq)) {
          client.late = text;
          return;
        }
        // All in a room get the same, and nobody in another does.
        if (client.room) return send(client.socket, JSON.stringify({ ...JSON.parse(text), room: client.room }));
        send(client.socket, text);
        if (has(rules.doubled, number, seq)) send(client.socket, text);
        if (client.late) {
          send(client.socket, client.late);
          client.late = null;
        }
      });
    }
    counted("published");
    if (seq === rules.count) clearInterval(timer);
  }, rules.every_ms);
}

// A desk that answers by id, out of order, late, or never, and lets clients into rooms.
function ask(socket, clients, data, isBinary) {
  if (isBinary) return send(socket, `bytes ${data.toString("hex")}`);
  const text = data.toString();
  if (!text.startsWith("{")) return send(socket, `you said ${text}`);
  const asked = JSON.parse(text);
  if (asked.join) {
    clients.forEach((client) => client.socket === socket && (client.room = asked.join));
    send(socket, JSON.stringify({ joined: asked.join }));
    return socket.ping("joined?");
  }
  if (asked.never) return;
  const answer = JSON.stringify({ id: asked.id, twice: asked.n * 2, name: asked.name });
  // Another's answer comes first: who takes it for its own measures too little.
  send(socket, JSON.stringify({ id: "somebody else's", twice: 0 }));
  setTimeout(() => send(socket, answer), asked.after_ms ?? 0);
}

function opened(socket, path) {
  const clients = channels.get(path) ?? [];
  channels.set(path, clients);
  clients.push({ socket, late: null });
  socket.on("error", () => {});
  socket.on("pong", () => counted("pongs"));
  socket.on("close", (code) => {
    counts.closed[code] = (counts.closed[code] ?? 0) + 1;
    // It is among the server's clients until all who listen here have been told.
    setImmediate(left);
  });
  socket.on("message", (data, isBinary) => {
    counts.bytes += data.length;
    counted("received");
    if (path.startsWith("/desk")) return ask(socket, clients, data, isBinary);
    const echo = path.match(/^\/echo-(\d+)/);
    if (echo) setTimeout(() => send(socket, data.toString()), Number(echo[1]));
  });
  const close = path.match(/^\/close-(\w+)/);
  if (close) {
    setTimeout(() => {
      if (close[1] === "none") socket.close();
      else if (close[1] === "cut") socket.terminate();
      else socket.close(Number(close[1]), "as planned");
    }, 200);
  }
}

server.on("connection", (socket, request) => {
  if (counts.cookies.length < 20) counts.cookies.push(request.headers.cookie ?? "");
  if (counts.protocols.length < 20) counts.protocols.push(socket.protocol);
  if (socket.extensions.includes("permessage-deflate")) counts.deflated += 1;
  opened(socket, request.url);
  socket.ping("still there?");
  counted("opened");
});

// Server-Sent Events: a client that only listens.
function stream(request, response) {
  response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
  response.write("retry: 1000\n: welcome\n\n");
  const clients = channels.get(request.url) ?? [];
  channels.set(request.url, clients);
  const socket = {
    send: (text) => response.write(`id: ${counts.sent}\r\nevent: odds\r\ndata: ${text}\r\n\r\n`),
    terminate: () => response.destroy(),
  };
  clients.push({ socket, late: null });
  streams.add(socket);
  response.on("error", () => {});
  response.on("close", () => {
    streams.delete(socket);
    socket.send = () => {};
    left();
  });
  counts.last_ids.push(request.headers["last-event-id"] ?? "");
  counted("opened");
}

// What was planned and has not begun.
const planned = [
  [plan.publish, () => publish(plan.publish)],
  [plan.cut, () => [...server.clients, ...streams].forEach((socket) => socket.terminate())],
  [plan.die, () => process.exit(1)],
].filter(([rules]) => rules);

// Counts one more: what has waited for it begins.
function counted(name) {
  counts[name] += 1;
  const isReached = ([count, least]) => counts[count] >= least;
  const due = planned.filter(([rules]) => Object.entries(rules.when ?? { opened: wanted }).every(isReached));
  for (const one of due) {
    planned.splice(planned.indexOf(one), 1);
    setTimeout(one[1], one[0].after_ms ?? 0);
  }
}

http.listen(0, "127.0.0.1", () => {
  watchTime();
  console.log(http.address().port);
});
process.stdin.on("end", () => process.exit(0)).resume();
