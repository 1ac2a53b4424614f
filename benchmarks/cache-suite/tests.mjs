// Prints what an edition of the suite asks: `node tests.mjs FOLDER`, where FOLDER holds its `tests/index.mjs`.

import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const index = pathToFileURL(resolve(process.argv[2], 'tests/index.mjs'))
const { default: suites } = await import(index)

const tests = suites.flatMap(suite => suite.tests.map(test => ({
  id: test.id,
  suite: suite.id,
  kind: test.kind ?? 'required',
  depends_on: test.depends_on ?? [],
  browser_only: test.browser_only === true
})))
process.stdout.write(JSON.stringify(tests))
