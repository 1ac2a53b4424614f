// A server of WebSockets that loses, doubles, swaps, delays, refuses and dies as it is told, and says what it did.
//
// Arguments: the number of clients to wait for, and a plan as JSON:
//   publish: { after_ms, every_ms, count, ago_ms, lost: [[client, seq]…], doubled: …, swapped: … }
// Clients are numbered from 0 in the order of their coming, for each path. Paths say the rest; see `opened`.

import { readFileSync } from "node:fs";
import { createServer as createPlain } from "node:http";
import { createServer as createSecure } from "node:https";
import { WebSocketServer } from "ws";

const wanted = Number(process.argv[2]);
const plan = JSON.parse(process.argv[3] ?? "{}");
const counts = { opened: 0, received: 0, bytes: 0, sent: 0 };
const channels = new Map();

const tell = (request, response) => response.end(JSON.stringify(counts));
// With a certificate and its key in one file, it speaks TLS.
const pem = process.env.SERVER_PEM && readFileSync(process.env.SERVER_PEM);
const http = pem ? createSecure({ cert: pem, key: pem }, tell) : createPlain(tell);
const server = new WebSocketServer({
  server: http,
  perMessageDeflate: false,
  verifyClient: (info, answer) => answer(!info.req.url.startsWith("/refused"), 403),
});

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

function publish(rules) {
  const has = (list, client, seq) => (list ?? []).some(([c, s]) => c === client && s === seq);
  let seq = 0;
  const timer = setInterval(() => {
    seq += 1;
    for (const [path, clients] of channels) {
      const text = JSON.stringify({ data: { seq, at: stamp(path, rules.ago_ms ?? 0) }, filler: "x".repeat(100) });
      clients.forEach((client, number) => {
        if (has(rules.lost, number, seq)) return;
        // It follows the next one.
        if (has(rules.swapped, number, seq)) {
          client.late = text;
          return;
        }
        send(client.socket, text);
        if (has(rules.doubled, number, seq)) send(client.socket, text);
        if (client.late) {
          send(client.socket, client.late);
          client.late = null;
        }
      });
    }
    if (seq === rules.count) clearInterval(timer);
  }, rules.every_ms);
}

function opened(socket, path) {
  const clients = channels.get(path) ?? [];
  channels.set(path, clients);
  clients.push({ socket, late: null });
  socket.on("error", () => {});
  socket.on("message", (data) => {
    counts.received += 1;
    counts.bytes += data.length;
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
  counts.opened += 1;
  opened(socket, request.url);
  if (counts.opened === wanted) {
    if (plan.publish) setTimeout(() => publish(plan.publish), plan.publish.after_ms);
    if (plan.die_ms) setTimeout(() => process.exit(1), plan.die_ms);
  }
});

http.listen(0, "127.0.0.1", () => console.log(http.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
