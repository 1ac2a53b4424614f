// Branches, classes, cookies, redirects, multipart and a batch.
import http from 'k6/http';
import { check, sleep, fail } from 'k6';

const file = open('./note.txt', 'b');

class Shop {
  constructor(base) {
    this.base = base;
    this.params = { headers: { 'X-Shop': 'one' }, redirects: 0 };
  }

  get(path) {
    return http.get(this.base + path, this.params);
  }
}

export const options = { iterations: 1, vus: 1, userAgent: 'tester/1' };

let session;

export default function () {
  const shop = new Shop('http://origin.test');
  if (__ITER === 0) {
    const res = http.post('http://origin.test/session', 'start', { headers: { 'Content-Type': 'text/plain' } });
    session = res.json('name');
  }
  const page = shop.get(`/page?session=${session}`);
  if (page.status !== 200) {
    fail('no page');
  }
  http.post('http://origin.test/upload', { file: http.file(file, 'note.txt', 'text/plain') });
  const responses = http.batch([
    ['GET', 'http://origin.test/a.css'],
    { method: 'POST', url: 'http://origin.test/b', body: 'x=1' },
    'http://origin.test/c.js',
  ]);
  check(responses[0], { 'css': (r) => r.status >= 200 && r.status < 300 });
  http.get('http://origin.test/cookie', { cookies: { theme: 'dark' } });
  let total = 0;
  for (const n of [1, 2, 3]) total += n;
  let size = total > 5 ? 'big' : 'small';
  switch (size) {
    case 'big':
      http.put(`http://origin.test/size/${size.toUpperCase()}`, JSON.stringify({ total }, null, 2));
      break;
    default:
      http.get('http://origin.test/small');
  }
  try {
    http.head('http://origin.test/head');
  } catch (error) {
    console.error(error);
  }
  sleep(0.1);
}
