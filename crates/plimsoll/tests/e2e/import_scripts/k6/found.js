// Values found in pages, headers and by regular expressions.
import http from 'k6/http';
import encoding from 'k6/encoding';

export default function () {
  const page = http.get('http://origin.test/page');
  const csrf = page.html().find('input[name=csrf]').first().attr('value');
  const id = /href="\/item\/(\d+)"/.exec(page.body)[1];
  const kind = page.headers['Content-Type'];
  http.post('http://origin.test/form', { csrf: csrf, id: id });
  http.get('http://origin.test/kind', { headers: { 'X-Kind': kind } });
  http.get('http://origin.test/login', { headers: { 'X-Login': encoding.b64encode('ann:secret') } });
  const parsed = JSON.parse(http.get('http://origin.test/json').body);
  http.get(`http://origin.test/items/${parsed.items[1].name}`);
}
