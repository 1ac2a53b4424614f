// The page of an article, in React. A page has as many elements as are asked for: of an article's whole page 670, or
// 362 of which the browser makes the rest, as the study did.

const { createElement: e } = require('react');

function Menu({ sections }) {
  return e(
    'nav',
    { className: 'menu' },
    e('ul', null, sections.map((name) => e('li', { key: name }, e('a', { href: `/?section=${name}` }, name)))),
  );
}

/**
 * A moment as readers say it, in the paper's time zone. Each call makes a formatter of its own, as sites of that time
 * did without a thought; most of what a page costs is this, element by element.
 */
function inWords(at) {
  return new Date(at).toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone: 'Europe/Lisbon' });
}

function Paragraph({ sentences }) {
  return e('p', null, sentences.map((text, at) => e('span', { key: at }, text, ' ')));
}

function Related({ article }) {
  return e(
    'li',
    { className: 'related', title: inWords(article.at) },
    e('a', { href: `/articles/${article.id}` }, e('img', { alt: '', src: `/i/${article.id % 50}.png`, loading: 'lazy' })),
    e('h3', null, e('a', { href: `/articles/${article.id}` }, article.title)),
  );
}

function Comment({ comment }) {
  return e(
    'li',
    { className: 'comment' },
    e('b', null, comment.name),
    e('p', null, comment.text),
    e('footer', null, e('button', null, 'like'), e('span', { className: 'likes' }, comment.likes), inWords(comment.at)),
  );
}

/** Elements of which each is one; what a component makes is counted by hand and checked by the smoke. */
const COSTS = { frame: 40, paragraph: 4, related: 5, comment: 6 };

/** How much of an article fits into so many elements, in the order in which readers see it. */
function fitting(article, nodes) {
  let left = nodes - COSTS.frame;
  const take = (items, cost) => {
    const count = Math.max(0, Math.min(items.length, Math.floor(left / cost)));
    left -= count * cost;
    return items.slice(0, count);
  };
  const paragraphs = take(article.paragraphs, COSTS.paragraph);
  const related = take(article.related, COSTS.related);
  const comments = take(article.comments, COSTS.comment);
  // What is left over are the small items of the foot, of which a front page is full.
  return { paragraphs, related, comments, tags: Math.max(0, left) };
}

const SECTIONS = ['City', 'Country', 'World', 'Money', 'Sport', 'Science', 'Culture', 'Travel', 'Weather', 'Letters'];

/** The whole document. */
function Page({ article, nodes }) {
  const { paragraphs, related, comments, tags } = fitting(article, nodes);
  return e(
    'html',
    { lang: 'en' },
    e(
      'head',
      null,
      e('meta', { charSet: 'utf-8' }),
      e('meta', { name: 'viewport', content: 'width=device-width' }),
      e('title', null, article.title),
    ),
    e(
      'body',
      null,
      e('header', null, e('h1', null, e('a', { href: '/' }, 'The Morning Line')), e(Menu, { sections: SECTIONS })),
      e(
        'main',
        null,
        e(
          'article',
          null,
          e('small', null, article.section),
          e('h2', null, article.title),
          e('address', null, article.author),
          e('time', null, `${inWords(article.at)}, ${article.minutes} min`),
          paragraphs.map((sentences, at) => e(Paragraph, { key: at, sentences })),
        ),
        e('ul', { className: 'beside' }, related.map((one, at) => e(Related, { key: at, article: one }))),
        e('ol', { className: 'comments' }, comments.map((one, at) => e(Comment, { key: at, comment: one }))),
      ),
      e('footer', null, Array.from({ length: tags }, (_, at) => e('i', { key: at }, `tag ${at}`))),
    ),
  );
}

module.exports = { Page };
