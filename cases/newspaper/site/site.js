// The site: asks for the article, renders the page, answers. As many processes as are asked for share the port; the
// first one only watches over them.

const cluster = require('node:cluster');
const http = require('node:http');
const { createElement } = require('react');
const { renderToString } = require('react-dom/server');
const { Page } = require('./page');
const { articlesPort, nodes, port, workers } = require('./settings');

const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });

/** The article, from its own process. */
function fetchArticle(id) {
  return new Promise((resolve, reject) => {
    const options = { agent, host: '127.0.0.1', port: articlesPort, path: `/api/articles/${id}` };
    const request = http.get(options, (response) => {
      const pieces = [];
      response.on('data', (piece) => pieces.push(piece));
      response.on('end', () => {
        if (response.statusCode === 404) return resolve(null);
        if (response.statusCode !== 200) return reject(new Error(`articles answered ${response.statusCode}`));
        return resolve(JSON.parse(Buffer.concat(pieces).toString()));
      });
      response.on('error', reject);
    });
    request.on('error', reject);
  });
}

function answer(response, status, type, body) {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

async function serve(request, response) {
  if (request.url === '/health') return answer(response, 200, 'text/plain', 'ok\n');
  const [, id] = /^\/articles\/(\d{1,5})(?:\?.*)?$/.exec(request.url) ?? [];
  if (id === undefined) return answer(response, 404, 'text/plain', 'no such page\n');
  try {
    const article = await fetchArticle(id);
    if (article === null) return answer(response, 404, 'text/plain', 'no such article\n');
    const html = renderToString(createElement(Page, { article, nodes }));
    return answer(response, 200, 'text/html; charset=utf-8', `<!doctype html>${html}`);
  } catch (error) {
    console.error(error);
    return answer(response, 502, 'text/plain', 'the articles do not answer\n');
  }
}

if (cluster.isPrimary) {
  for (let count = 0; count < workers; count += 1) cluster.fork();
  cluster.on('exit', (worker, code) => {
    console.error(`a worker ended with ${code}`);
    process.exit(1);
  });
} else {
  const server = http.createServer(serve);
  server.keepAliveTimeout = 60_000;
  // A page that many want at once waits in the kernel's line, as it did in the study.
  server.listen(port, '127.0.0.1', 1024);
}
