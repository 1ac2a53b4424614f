// The database of a part: a pool of connections over the private socket.

const mysql = require('mysql2/promise');
const { connections, database, faults } = require('./settings');

// Habit of the object-relational mapper: it asks for what it could know before each statement.
const HABIT = ['SHOW TABLE STATUS', 'SHOW FULL COLUMNS FROM', 'SHOW INDEX FROM'];

const pool = mysql.createPool({
  socketPath: database,
  user: 'tutor',
  database: 'tutor',
  connectionLimit: connections,
});

/** Rows of a statement with its parameters, prepared once per connection. */
async function rows(statement, parameters = []) {
  const [found] = await pool.execute(statement, parameters);
  return found;
}

/** The first row, or undefined. */
async function row(statement, parameters) {
  return (await rows(statement, parameters))[0];
}

/** Inserts and returns the new id. */
async function insert(statement, parameters) {
  const [result] = await pool.execute(statement, parameters);
  return result.insertId;
}

/** What the mapper asks before a statement on this table, when it has its habit. */
async function mapped(table) {
  if (!faults.has('orm-queries')) {
    return;
  }
  const [status, columns, index] = HABIT;
  await pool.query(status);
  await pool.query(`${columns} ${table}`);
  await pool.query(`${index} ${table}`);
}

module.exports = { rows, row, insert, mapped };
