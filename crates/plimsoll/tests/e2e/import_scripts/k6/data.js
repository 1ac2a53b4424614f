// Rows of a CSV and a JSON file, and helpers of another file.
import http from 'k6/http';
import { SharedArray } from 'k6/data';
import papaparse from './papaparse.js';
import { url, headers, METHODS } from './helpers.js';

const cities = new SharedArray('cities', () => JSON.parse(open('./cities.json')));
const people = new SharedArray('people', () => papaparse.parse(open('./people.csv'), { header: true }).data);
const hours = ['early', 'late'];

export const options = { scenarios: { browse: { executor: 'per-vu-iterations', vus: 2, iterations: 3, exec: 'browse' } } };

export function browse() {
  const city = cities[(__VU - 1) % cities.length];
  http.get(url(`/cities/${city.id}`), { headers: headers({ 'X-City': city.name }) });
  http.post(url('/visits'), JSON.stringify({ city: city.name, id: city.id, who: people[__ITER % people.length], hour: hours[__VU % hours.length] }), {
    headers: headers({ 'Content-Type': 'application/json' }),
  });
  METHODS.forEach((method) => http.request(method, url('/methods')));
  const pairs = Object.entries({ a: 1, b: 'zwei' }).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  http.get(url(`/search?${pairs.join('&')}`));
}
