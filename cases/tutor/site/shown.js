// How pages show times and programs: in words, and in colours.

const highlight = require('highlight.js/lib/core');

highlight.registerLanguage('c', require('highlight.js/lib/languages/c'));

const WORDS = { dateStyle: 'full', timeStyle: 'medium' };
const INSTITUTE = 'Europe/Berlin';

/** A moment in words, on the clocks of a time zone, by a formatter made for it. */
function when(moment, timeZone = INSTITUTE) {
  return new Date(moment).toLocaleString('en-GB', { ...WORDS, timeZone });
}

/** A program as HTML, its words coloured by class. */
function listing(code) {
  return highlight.highlight(code, { language: 'c', ignoreIllegals: true }).value;
}

module.exports = { when, listing };
