/** Position of a client in a channel: everything up to `offset` of `epoch` is known. */
export interface Position {
  epoch: number;
  offset: number;
}

/** A received message. */
export interface Message<T = unknown> extends Position {
  channel: string;
  data: T;
  /** The offset of the message before it, where edges share their channels and offsets have gaps. */
  after?: number;
}

/** Callbacks for a channel. */
export interface Listener<T = unknown> {
  onMessage?(data: T, message: Message<T>): void;
  /** Missed messages cannot be recovered: fetch the state anew. */
  onLoss?(): void;
  /** The channel may not be read, or does not exist. */
  onError?(error: Error): void;
  /** Start position, for example from an earlier page; used for a channel's first listener only. */
  since?: Position;
}

export type State = "connecting" | "open" | "waiting" | "closed";

export interface Options {
  /** A signed token, or a function that fetches one: it is called for each connection. */
  token?: string | (() => string | Promise<string>);
  /**
   * Channels with `patches` send changes only. Listeners receive the complete value and must not modify it: the next
   * message is built from it.
   */
  patches?: boolean;
  onState?(state: State): void;
  /** Callbacks that belong to no channel. */
  onError?(error: Error): void;
}

export interface Hub {
  readonly state: State;
  /** Listens to a channel until the returned function is called. */
  subscribe<T = unknown>(channel: string, listener: Listener<T> | Required<Listener<T>>["onMessage"]): () => void;
  /** Publishes where that is allowed; rejects if it failed, or if the outcome is unknown. */
  publish(channel: string, data: unknown): Promise<void>;
  /**
   * Sends a message to the application behind the hub and resolves to its response; rejects if the application refused
   * it, or if the outcome is unknown.
   */
  send<T = unknown>(data: unknown): Promise<T>;
  /** Replaces the token. */
  token(token: string): Promise<void>;
  close(): void;
}

/** Connects, and reconnects whenever needed; without a URL to the hub that served this file. */
export function connect(url?: string, options?: Options): Hub;
