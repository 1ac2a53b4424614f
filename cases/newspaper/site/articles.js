// The articles: an HTTP interface in a process of its own, which the site and browsers ask.

const http = require('node:http');
const { article } = require('./article');
const { articlesPort } = require('./settings');

const COUNT = 10000;

const server = http.createServer((request, response) => {
  const [, id] = /^\/api\/articles\/(\d{1,5})$/.exec(request.url) ?? [];
  if (request.url === '/health') {
    response.end('ok\n');
  } else if (id === undefined || Number(id) >= COUNT) {
    response.writeHead(404, { 'Content-Type': 'application/json' });
    response.end('{"error":"no such article"}');
  } else {
    const body = JSON.stringify(article(Number(id)));
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  }
});
server.keepAliveTimeout = 60_000;
server.listen(articlesPort, '127.0.0.1', 1024);
