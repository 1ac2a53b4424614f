// The switches of the site, from the environment; a wrong one ends the process with a sentence.

function number(name, least, most, fallback) {
  const text = process.env[name];
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < least || value > most) {
    console.error(`${name} is ${text}, valid is a whole number from ${least} to ${most}`);
    process.exit(2);
  }
  return value;
}

module.exports = {
  port: number('NEWS_PORT', 1, 65535, 3000),
  articlesPort: number('NEWS_ARTICLES_PORT', 1, 65535, 3001),
  /** Processes that render. */
  workers: number('NEWS_WORKERS', 1, 64, 1),
  /** Elements of a page that the server renders; the browser renders the rest. */
  nodes: number('NEWS_NODES', 50, 5000, 670),
};
