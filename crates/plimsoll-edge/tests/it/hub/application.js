// An application behind the hub: `node application.js PORT`. It says at /asked what it was asked.
const http = require("node:http");

const asked = [];
const held = [];
let onHeld;
const sockets = new Set();

const session = (request) => /session=(\w+)/.exec(request.headers.cookie ?? "")?.[1];

const answers = {
  "/connect": ({ token }, request) => {
    const user = session(request) ?? token;
    if (!user) return [403, { error: "log in first" }];
    // Long enough to do something first, also where a thread stands still for seconds.
    if (user === "brief") return [200, { user, subscribe: ["*"], exp: Date.now() / 1000 + 12 }];
    return [200, { user, subscribe: ["game-*", "chat"] }];
  },
  "/subscribe": ({ user, channel }, request) => {
    if (channel === `user-${user ?? session(request)}`) return [200];
    if (channel === "broken") return [500];
    return [403, { error: `${channel} is not yours` }];
  },
  "/publish": ({ user, data }) => {
    if (data === "rude") return [422, { error: "be kind" }];
    return data === "plain" ? [204] : [200, { data: { user, said: data } }];
  },
  "/odds": ({ channel, data }) => {
    if (data.includes("crash")) return [500];
    if (data.includes("quiet")) return [204];
    return [200, { channel, count: data.length, sum: data.reduce((sum, one) => sum + one, 0) }];
  },
  "/disconnect": () => [204],
  "/messages": ({ user, client, data }) => {
    if (data === "nothing") return [204];
    if (data === "text") return [200];
    if (data === "bad") return [400, { error: "a bet is a number" }];
    if (data === "crash") return [500];
    return [200, { user, client, got: data }];
  },
};

const server = http.createServer(async (request, response) => {
  const send = (status, body) => {
    const text = body === undefined ? "" : JSON.stringify(body);
    response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) }).end(text);
  };
  if (request.url === "/asked") return send(200, { asked, connections: sockets.size });
  if (request.url === "/release") {
    while (held.length < 2) await new Promise((more) => (onHeld = more));
    for (const release of held.splice(0)) release();
    return send(200);
  }
  let text = "";
  for await (const part of request) text += part;
  const body = JSON.parse(text);
  asked.push({ path: request.url, body, headers: request.headers });
  if (body.data === "hold") {
    await new Promise((release) => {
      held.push(release);
      onHeld?.();
    });
  }
  if (body.data === "text") return response.end("ok");
  send(...answers[request.url](body, request));
});
server.on("connection", (socket) => sockets.add(socket));
server.listen(Number(process.argv[2]), "127.0.0.1", () => console.log("ready"));
