/** Where a client stands in a channel: everything up to `offset` of `epoch` is known. */
export interface Position {
  epoch: number;
  offset: number;
}

/** A message as it came. */
export interface Message<T = unknown> extends Position {
  channel: string;
  data: T;
  /** The offset of the message before it, where edges share their channels and offsets leave numbers out. */
  after?: number;
}

/** What is done with what comes of a channel. */
export interface Listener<T = unknown> {
  onMessage?(data: T, message: Message<T>): void;
  /** Messages were missed that nobody can give any more: fetch the state anew. */
  onLoss?(): void;
  /** The channel may not be read, or does not exist. */
  onError?(error: Error): void;
  /** From where on, if an earlier page knew; only of a channel's first listener. */
  since?: Position;
}

export type State = "connecting" | "open" | "waiting" | "closed";

export interface Options {
  /** A signed token, or what fetches one: it is asked at each connection. */
  token?: string | (() => string | Promise<string>);
  /**
   * Channels that have `patches` send what has changed. What listeners are given is whole, and must stay as it is: the
   * next message is made of it.
   */
  patches?: boolean;
  onState?(state: State): void;
  /** What belongs to no channel. */
  onError?(error: Error): void;
}

export interface Hub {
  readonly state: State;
  /** Listens to a channel until the returned function is called. */
  subscribe<T = unknown>(channel: string, listener: Listener<T> | Required<Listener<T>>["onMessage"]): () => void;
  /** Publishes where that is allowed; fails if it was not, or if that is not known. */
  publish(channel: string, data: unknown): Promise<void>;
  /**
   * Sends something to the application behind the hub, and gives its answer; fails if it refused, or if the answer is
   * not known.
   */
  send<T = unknown>(data: unknown): Promise<T>;
  /** Another token from now on. */
  token(token: string): Promise<void>;
  close(): void;
}

/** Connects, and again whenever that is needed; without a URL to the hub that this file comes from. */
export function connect(url?: string, options?: Options): Hub;
