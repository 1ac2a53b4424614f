// A server for an OpenAPI document, by Prism: it answers each request as the document says, and judges whether the request
// is valid for it.
//
// Argument: the document. The port is the first line of the output; GET /judgement is what was found out.

import http from "node:http";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { getHttpOperationsFromSpec } = require("@stoplight/prism-http");
const { createServer } = require("@stoplight/prism-http-server");

const quiet = () => {};
const logger = { info: quiet, warn: quiet, error: quiet, debug: quiet, trace: quiet, fatal: quiet, success: quiet };
logger.child = () => logger;

const operations = await getHttpOperationsFromSpec(process.argv[2]);
const prism = createServer(operations, {
  cors: false,
  components: { logger },
  config: {
    isProxy: false,
    mock: { dynamic: false },
    validateRequest: true,
    validateResponse: false,
    checkSecurity: true,
    errors: false,
    upstreamProxy: undefined,
  },
});
const address = new URL(await prism.listen(0, "127.0.0.1"));

let requests = 0;
const faults = [];

function judge(request, body, answer, text) {
  requests += 1;
  const violations = JSON.parse(answer.headers["sl-violations"] ?? "[]").filter(
    (violation) => violation.location[0] === "request",
  );
  if (answer.statusCode < 400 && violations.length === 0) return;
  const { method, url, headers } = request;
  faults.push({ method, url, headers, body, status: answer.statusCode, violations, answer: text });
}

const front = http.createServer(async (request, response) => {
  if (request.url === "/judgement") {
    response.end(JSON.stringify({ requests, faults }));
    return;
  }
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const { method, url, headers } = request;
  const onward = http.request({ host: address.hostname, port: address.port, method, path: url, headers }, async (answer) => {
    const parts = [];
    for await (const part of answer) parts.push(part);
    const text = Buffer.concat(parts);
    judge(request, body.toString("latin1"), answer, text.toString());
    const type = answer.headers["content-type"];
    response.writeHead(answer.statusCode, type ? { "content-type": type } : {});
    response.end(text);
  });
  onward.end(body);
});
front.listen(0, "127.0.0.1", () => console.log(front.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
