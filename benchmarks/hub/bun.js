// A hub as Bun's documentation has it: everybody is subscribed to one topic; what is posted goes to all, what a client
// says comes back to it. Started with a port.
let opened = 0;
let heard = 0;

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.argv[2]),
  async fetch(request, server) {
    const path = new URL(request.url).pathname;
    if (path === '/live' && server.upgrade(request)) {
      return undefined;
    }
    if (path === '/publish') {
      server.publish('all', await request.text());
      return new Response('published');
    }
    if (path === '/counts') {
      return Response.json({ opened, heard });
    }
    return new Response('not found', { status: 404 });
  },
  websocket: {
    idleTimeout: 960,
    perMessageDeflate: false,
    open(socket) {
      opened += 1;
      socket.subscribe('all');
    },
    message(socket, text) {
      heard += 1;
      socket.send(text);
    },
  },
});
