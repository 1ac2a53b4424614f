// A shop before PostgreSQL, and the service that it asks for rates, both traced by OpenTelemetry's own kit.
//
// ROLE is `shop` or `rates`; OTLP where spans go; PORT where it listens.
'use strict'

const { ROLE, OTLP, PORT, DATABASE, SESSIONS, RATES, WAIT_MS, AT_ONCE, PER_SECOND, ENCODING } = process.env

const { registerInstrumentations } = require('@opentelemetry/instrumentation')
const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http')
const { PgInstrumentation } = require('@opentelemetry/instrumentation-pg')
const { resourceFromAttributes } = require('@opentelemetry/resources')
const { NodeTracerProvider, BatchSpanProcessor } = require('@opentelemetry/sdk-trace-node')
const { OTLPTraceExporter } = require(`@opentelemetry/exporter-trace-otlp-${ENCODING}`)

const exporter = new OTLPTraceExporter({ url: `http://${OTLP}/v1/traces`, compression: 'gzip' })
const processor = new BatchSpanProcessor(exporter, { scheduledDelayMillis: 200, maxQueueSize: 65536 })
const resource = resourceFromAttributes({ 'service.name': ROLE })
new NodeTracerProvider({ resource, spanProcessors: [processor] }).register()
registerInstrumentations({ instrumentations: [new HttpInstrumentation(), new PgInstrumentation()] })

// What is traced must be loaded after that.
const http = require('node:http')
const pg = require('pg')

const agent = new http.Agent({ keepAlive: true })

/** Asks for rates; the status of the answer. */
function askRates(currency) {
  return new Promise((resolve, reject) => {
    const request = http.get(`http://${RATES}/rates/${currency}`, { agent }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode))
    })
    request.on('error', reject)
  })
}

const pool = DATABASE && new pg.Pool({ connectionString: DATABASE, max: Number(SESSIONS) })

const ways = {
  // An order with ten items, each asked for by itself, and two rates side by side.
  async orders() {
    const session = await pool.connect()
    try {
      await session.query('SELECT id FROM orders WHERE id = $1', [1])
      for (let item = 1; item <= 10; item++) {
        await session.query('SELECT name FROM items WHERE id = $1', [item])
      }
      await session.query('UPDATE orders SET seen = seen + 1 WHERE id = $1', [1])
    } finally {
      session.release()
    }
    await Promise.all([askRates('eur'), askRates('usd')])
  },
  // Many items.
  async list() {
    for (let item = 1; item <= 60; item++) {
      await pool.query('SELECT name FROM items WHERE id = $1', [item])
    }
  },
  // Nothing but a rate; what is refused is an error of ours.
  async prices() {
    return await askRates('eur')
  },
  // A rate inside a transaction.
  async held() {
    const session = await pool.connect()
    try {
      await session.query('BEGIN')
      await session.query('SELECT id FROM orders WHERE id = $1', [1])
      await askRates('eur')
      await session.query('COMMIT')
    } finally {
      session.release()
    }
  },
}

let second = 0
let answered = 0
let busy = 0
const waiting = []

/** Answers as many at once as it may; the others wait. */
function next() {
  while (busy < Number(AT_ONCE) && waiting.length > 0) {
    const answer = waiting.shift()
    busy++
    setTimeout(() => {
      busy--
      answer.end('1.09')
      next()
    }, Number(WAIT_MS))
  }
}

function rates(answer) {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) [second, answered] = [now, 0]
  if (++answered > Number(PER_SECOND)) {
    answer.writeHead(429, { 'retry-after': '1' }).end()
    return
  }
  waiting.push(answer)
  next()
}

async function shop(request, answer) {
  try {
    const way = request.url.split('/')[1]
    const status = (await ways[way]()) ?? 200
    answer.writeHead(status === 200 ? 200 : 502).end('done')
  } catch (error) {
    answer.writeHead(503).end(error.message)
  }
}

http
  .createServer((request, answer) => (ROLE === 'shop' ? shop(request, answer) : rates(answer)))
  .listen(Number(PORT), '127.0.0.1', 4096, () => console.log('listening'))
