// Servers of Socket.IO, GraphQL over WebSocket and STOMP, each by the library that most of Node uses.
//
// Arguments: the protocol, and how many subscribers to wait for. Once they are there, and each client has answered a ping
// where the protocol has them, 20 messages are published, 50 ms apart. Who does not answer pings sees none; nobody is cut
// off for answering late.

import { createServer } from "node:http";

const [protocol, wanted] = [process.argv[2], Number(process.argv[3])];
const http = createServer();
let [subscribers, answering] = [0, protocol === "stomp" ? wanted : 0];
let publish;

/** A client has subscribed; `send` publishes to all. */
function subscribed(send) {
  publish = send;
  subscribers += 1;
  begin();
}

/** A client has answered its first ping. */
function answers() {
  answering += 1;
  begin();
}

function begin() {
  if (subscribers !== wanted || answering !== wanted) return;
  let seq = 0;
  setTimeout(() => {
    const timer = setInterval(() => {
      seq += 1;
      publish({ seq, at: Date.now() });
      if (seq === 20) clearInterval(timer);
    }, 50);
  }, 2000);
}

async function socketIo() {
  const { Server } = await import("socket.io");
  const io = new Server(http, { pingInterval: 400, pingTimeout: 60_000 });
  io.on("connection", (socket) => {
    socket.conn.once("heartbeat", answers);
    socket.on("ask", (question, reply) => reply({ twice: question.n * 2 }));
    socket.on("join", (room) => {
      socket.join(room);
      socket.emit("joined", room);
      subscribed((message) => io.to(room).emit("odds", message));
    });
  });
}

async function graphql() {
  const { GraphQLFloat, GraphQLInt, GraphQLObjectType, GraphQLSchema } = await import("graphql");
  const { useServer } = await import("graphql-ws/use/ws");
  const { WebSocketServer } = await import("ws");
  const waiting = new Set();
  const send = (message) => waiting.forEach((take) => take(message));
  async function* odds() {
    const queue = [];
    let wake = () => {};
    const take = (message) => {
      queue.push(message);
      wake();
    };
    waiting.add(take);
    subscribed(send);
    try {
      while (true) {
        while (queue.length > 0) yield { odds: queue.shift() };
        await new Promise((resolve) => (wake = resolve));
      }
    } finally {
      waiting.delete(take);
    }
  }
  const Odds = new GraphQLObjectType({
    name: "Odds",
    fields: { seq: { type: GraphQLInt }, at: { type: GraphQLFloat } },
  });
  const schema = new GraphQLSchema({
    query: new GraphQLObjectType({
      name: "Query",
      fields: { twice: { type: GraphQLInt, args: { n: { type: GraphQLInt } }, resolve: (_, { n }) => n * 2 } },
    }),
    subscription: new GraphQLObjectType({
      name: "Subscription",
      fields: { odds: { type: Odds, subscribe: odds } },
    }),
  });
  const server = new WebSocketServer({ server: http, path: "/graphql" });
  server.on("connection", (socket) => {
    const timer = setInterval(() => socket.ping(), 400);
    socket.once("pong", answers);
    socket.on("close", () => clearInterval(timer));
  });
  // By itself it cuts off who answers a ping after the next, and who says after three seconds who it is.
  useServer({ schema, connectionInitWaitTimeout: 60_000 }, server, 0);
}

async function stomp() {
  const { default: StompServer } = await import("stomp-broker-js");
  const server = new StompServer({ server: http, path: "/stomp", heartbeat: [0, 0] });
  server.on("subscribe", () => {
    subscribed((message) => server.send("/topic/odds", {}, JSON.stringify(message)));
  });
}

await { "socket.io": socketIo, graphql, stomp }[protocol]();
http.listen(0, "127.0.0.1", () => console.log(http.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
