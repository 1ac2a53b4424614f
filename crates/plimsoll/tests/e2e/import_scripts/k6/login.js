// A login by form, a token from JSON, and a basket: values of responses in paths, headers and bodies.
import http from 'k6/http';
import { check, group, sleep } from 'k6';

const BASE_URL = __ENV.BASE_URL || 'http://origin.test';

export const options = {
  vus: 5,
  duration: '1m',
  thresholds: {
    http_req_duration: ['p(95)<500', { threshold: 'p(99)<1000', abortOnFail: true }],
    http_req_failed: ['rate<0.01'],
    'http_req_duration{name:basket}': ['p(90)<300'],
    'http_req_duration{group:::shop}': ['med<300'],
  },
};

export default function () {
  const res = http.post(`${BASE_URL}/login`, { user: 'ann', note: 'a b&c', lang: 'en' });
  check(res, {
    'logged in': (r) => r.status === 200,
    'has a token': (r) => r.json('token') !== undefined,
  });
  const token = res.json('token');
  const params = {
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    tags: { name: 'basket' },
  };
  group('shop', function () {
    for (let i = 1; i <= 3; i++) {
      http.post(BASE_URL + '/basket', JSON.stringify({ item: i, price: 1.50, tags: ['new', null], "quote": 'say "hi"\n' }), params);
    }
    const body = res.json();
    http.get(`${BASE_URL}/users/${body.user.id}/orders?page=1&sort=-date`, { headers: { 'X-Token': token } });
    http.del(`${BASE_URL}/basket/${body.items[0].id}`, null, params);
  });
  sleep(Math.random() * 2 + 1);
}
