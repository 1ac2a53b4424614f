// WebSockets that stay for k6, as its documentation has them: a few users, each with many sockets on its event loop.
import { setInterval } from 'k6/timers';
import { WebSocket } from 'k6/websockets';

const users = 10;
const each = Number(__ENV.CONNECTIONS) / users;
const every = Number(__ENV.EVERY_MS);

export const options = {
  scenarios: {
    stay: { executor: 'per-vu-iterations', vus: users, iterations: 1, maxDuration: '1h' },
  },
};

export default function stay() {
  for (let count = 0; count < each; count += 1) {
    const socket = new WebSocket(__ENV.TARGET);
    socket.onopen = () => {
      if (every > 0) {
        setInterval(() => socket.send('hello'), every);
      }
    };
    socket.onmessage = () => {};
  }
}
