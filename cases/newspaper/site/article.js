// What an article holds, made from its number: the same article is the same text, in every process and every run.

const WORDS = (
  'the council said on Monday that work on the old bridge would begin in spring after two winters of delay while ' +
  'traders by the river fear for their summer and ask who pays for the ferry that was promised when the first plans ' +
  'were shown in a hall too small for all who came to hear them'
).split(' ');
const SECTIONS = ['City', 'Country', 'World', 'Money', 'Sport', 'Science'];

/** Numbers that look random and are not. */
function* numbers(seed) {
  let state = (seed * 2654435761 + 97) >>> 0;
  for (;;) {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    yield state;
  }
}

function sentence(random, words) {
  const chosen = Array.from({ length: words }, () => WORDS[random.next().value % WORDS.length]);
  const text = chosen.join(' ');
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

/** Moments lie within the two months before the first of November 2019. */
const NEWEST = Date.UTC(2019, 10, 1);
const SPAN_S = 60 * 86_400;

/** An article with its paragraphs, the articles beside it and the comments below. */
function article(id) {
  const random = numbers(id + 1);
  const below = (most) => random.next().value % most;
  const moment = () => NEWEST - below(SPAN_S) * 1000;
  return {
    id,
    section: SECTIONS[below(SECTIONS.length)],
    title: sentence(random, 7),
    author: sentence(random, 2),
    minutes: 2 + below(9),
    at: moment(),
    paragraphs: Array.from({ length: 12 }, () =>
      Array.from({ length: 3 }, () => sentence(random, 11)),
    ),
    related: Array.from({ length: 30 }, () => ({
      id: below(10000),
      title: sentence(random, 6),
      at: moment(),
    })),
    comments: Array.from({ length: 72 }, () => ({
      name: sentence(random, 1),
      text: sentence(random, 14),
      likes: below(100),
      at: moment(),
    })),
  };
}

module.exports = { article };
