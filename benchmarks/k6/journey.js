// The journey of benchmarks/journeys/journey.yaml for k6, as somebody would write it who knows k6 well: cookies stay with
// the user, bodies that nothing looks at are thrown away, and the summary is one JSON object on stdout.
import http from 'k6/http';
import { check, sleep } from 'k6';

const target = __ENV.TARGET;
const unread = { responseType: 'none' };

export const options = {
  scenarios: {
    users: {
      executor: 'constant-vus',
      vus: 500,
      duration: `${__ENV.SECONDS}s`,
      gracefulStop: '5s',
    },
  },
  noCookiesReset: true,
  summaryTrendStats: ['p(95)', 'p(99)'],
};

export default function journey() {
  const form = http.get(`${target}/form`);
  const found = /name="token" value="([0-9a-f]+)"/.exec(form.body);
  if (!check(found, { 'the form has a token': (match) => match !== null })) {
    return;
  }
  const token = found[1];
  sleep(0.05 + 0.1 * Math.random());
  const saved = http.post(`${target}/save`, { token, answer: 'ship' });
  check(saved, {
    'the form is saved': (answer) => answer.status === 200 && answer.body.includes(`saved ${token}`),
  });
  http.get(`${target}/ships/1`, unread);
  http.get(`${target}/ships/2`, unread);
  http.get(`${target}/ships/3`, unread);
}

export function handleSummary(data) {
  return { stdout: JSON.stringify(data.metrics) };
}
