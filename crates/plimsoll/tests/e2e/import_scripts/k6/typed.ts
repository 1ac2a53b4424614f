// TypeScript: types, enums of texts, generics.
import http, { RefinedParams, ResponseType } from 'k6/http';
import { Options } from 'k6/options';

interface Order {
  id: number;
  lines: string[];
}

export const options: Options = { vus: 1, iterations: 1 };

function send<T extends object>(path: string, body: T, extra?: Record<string, string>): void {
  const params = { headers: { 'Content-Type': 'application/json', ...extra } } as RefinedParams<ResponseType>;
  http.post(`http://origin.test${path}`, JSON.stringify(body), params);
}

export default function main(): void {
  const order: Order = { id: 7, lines: ['tea', 'milk'].map((line) => line.padEnd(5, '.')) };
  send('/orders', order, { 'X-Kind': 'typed' });
  send<Order>('/orders', { ...order, id: order.id + 1 });
  const found = order.lines!.find((line) => line.startsWith('milk'));
  http.get(http.url`http://origin.test/lines/${found?.replace(/\./g, '-') ?? 'none'}`);
}
