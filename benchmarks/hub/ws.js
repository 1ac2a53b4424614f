// A hub as the documentation of ws broadcasts: what is posted is sent to each client. Started with a port.
import { createServer } from 'node:http';
import { WebSocket, WebSocketServer } from 'ws';

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (piece) => {
    body += piece;
  });
  request.on('end', () => {
    for (const client of sockets.clients) {
      if (client.readyState === WebSocket.OPEN) {
        client.send(body);
      }
    }
    response.end('published');
  });
});

server.on('upgrade', (request, socket, head) => {
  sockets.handleUpgrade(request, socket, head, (client) => client.on('error', () => client.terminate()));
});

server.listen({ host: '127.0.0.1', port: Number(process.argv[2]), backlog: 4096 });
