// Data of setup(), several functions, and a loop that repeats.
import http from 'k6/http';
import { sleep } from 'k6';

export const options = {
  stages: [
    { duration: '30s', target: 20 },
    { duration: '1m', target: 20 },
    { duration: '10s', target: 0 },
  ],
};

export function setup() {
  const res = http.post('http://origin.test/setup', JSON.stringify({ make: true }));
  return { token: res.json('token'), paths: ['/a', '/b'] };
}

export default function (data) {
  const params = { headers: { 'X-Token': data.token }, timeout: '10s' };
  data.paths.forEach((path, index) => {
    http.get(`http://origin.test${path}?n=${index}`, params);
  });
  for (let round = 0; round < 4; round++) {
    http.patch('http://origin.test/again', 'round', params);
    sleep(0.01);
  }
}

export function teardown(data) {
  http.del('http://origin.test/setup');
}
