// The hub's client for browsers: import { connect } from "/live/client.js". Types: client.d.ts beside it.

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
// Channels named in one command.
const BATCH = 100;

// Applies a merge patch (RFC 7396); the value is not modified.
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const patched = (value, patch) => {
  if (!isObject(patch)) return patch;
  const whole = new Map(isObject(value) ? Object.entries(value) : []);
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) whole.delete(key);
    else whole.set(key, patched(whole.get(key), change));
  }
  return Object.fromEntries(whole);
};

export function connect(url = new URL(".", import.meta.url).href.slice(0, -1), options = {}) {
  const channels = new Map(); // By name: { listeners, position, known }.
  const answers = new Map(); // By id: handlers of the answer.
  let socket, timer;
  let tries = 0;
  let lastId = 0;
  let state;

  const become = (next) => {
    if (state !== next) options.onState?.((state = next));
  };
  const isOpen = () => socket?.readyState === 1;
  const say = (command) => isOpen() && socket.send(JSON.stringify(command));
  const each = (channel, what, ...rest) => {
    for (const listener of [...channel.listeners]) listener[what]?.(...rest);
  };

  const ask = (names) => {
    for (let at = 0; at < names.length; at += BATCH) {
      const subscribe = names.slice(at, at + BATCH).map((channel) => {
        const { position } = channels.get(channel);
        return position ? { channel, ...position } : channel;
      });
      say({ subscribe, id: ++lastId });
    }
  };

  const take = (said) => {
    tries = 0;
    const name = said.subscribed ?? said.channel;
    const channel = channels.get(name);
    const answer = answers.get(said.id);
    if (answer) {
      answers.delete(said.id);
      if (said.error) answer.reject(new Error(said.error));
      else answer.resolve(said.answer);
    } else if (said.error) {
      const error = new Error(said.error);
      if (channel) each(channel, "onError", error);
      else options.onError?.(error);
    } else if (!channel) {
      return;
    } else if (said.subscribed) {
      // Missed messages come next and advance it.
      if (said.recovered) return;
      channel.position = { epoch: said.epoch, offset: said.offset };
      if (said.recovered === false) each(channel, "onLoss");
    } else {
      const { epoch, offset, after = offset - 1 } = said;
      const known = channel.position;
      channel.position = { epoch, offset };
      if (known && (known.epoch !== epoch || known.offset < after)) each(channel, "onLoss");
      if (said.patch) said.data = patched(channel.data, said.patch);
      if (options.patches) channel.data = said.data;
      each(channel, "onMessage", said.data, said);
    }
  };

  const request = (command) =>
    new Promise((resolve, reject) => {
      if (state !== "open") return reject(new Error("there is no connection"));
      answers.set(++lastId, { resolve, reject });
      say({ ...command, id: lastId });
    });

  const open = async () => {
    clearTimeout(timer);
    timer = undefined;
    become("connecting");
    const mine = (socket = new WebSocket(new URL(url, location.href).href.replace(/^http/, "ws")));
    mine.onmessage = (event) => mine === socket && take(JSON.parse(event.data));
    mine.onclose = (event) => mine === socket && lost(event);
    mine.onopen = async () => {
      let token = options.token;
      try {
        if (typeof token === "function") token = await token();
      } catch (error) {
        options.onError?.(error);
        return mine.close();
      }
      if (mine !== socket || !isOpen()) return;
      if (options.patches) say({ patches: true });
      if (token) say({ token });
      become("open");
      ask([...channels.keys()]);
    };
  };

  const lost = (event) => {
    for (const { reject } of answers.values()) reject(new Error("the connection is lost"));
    answers.clear();
    if (state === "closed") return;
    become("waiting");
    // Jitter: clients that lost the connection together must not return together.
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries++) * (0.5 + Math.random());
    timer = setTimeout(open, event.code === 1001 ? Math.random() * FIRST_PAUSE_MS : pause);
  };

  const hurry = () => timer && open();
  addEventListener("online", hurry);
  open();

  return {
    get state() {
      return state;
    },
    subscribe(name, listener) {
      const own = typeof listener === "function" ? { onMessage: listener } : { ...listener };
      let channel = channels.get(name);
      if (!channel) {
        channels.set(name, (channel = { listeners: new Set(), position: own.since }));
        if (state === "open") ask([name]);
      }
      channel.listeners.add(own);
      return () => {
        if (!channel.listeners.delete(own) || channel.listeners.size) return;
        channels.delete(name);
        say({ unsubscribe: [name] });
      };
    },
    publish: (channel, data) => request({ publish: { channel, data } }),
    send: (data) => request({ send: data }),
    async token(token) {
      options = { ...options, token };
      if (state === "open") await request({ token });
    },
    close() {
      removeEventListener("online", hurry);
      clearTimeout(timer);
      become("closed");
      socket.close();
    },
  };
}
