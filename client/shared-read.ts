import { KeyframeError } from "./error.ts";
import { keepUrls } from "./keep-urls.ts";
import type { Output } from "./types.ts";

/** The state of one resource in a hook. */
export type Read<Data> = {
  /** idle: the id is not known yet. failed: the read failed with `error`; for a failed generation see the prediction's `status`. */
  status: "idle" | "loading" | "ready" | "failed";
  /** After a failure: the data of an earlier read, if any. */
  data: Data | undefined;
  error: KeyframeError | undefined;
};

/** Makes data or an error the state of a read. */
export type Publish<Data> = (data: Data | undefined, error?: KeyframeError) => void;

/** Reads and publishes; may follow the result until the signal aborts. */
type Reader<Data> = (key: string, publish: Publish<Data>, signal: AbortSignal) => Promise<unknown>;

export const IDLE = { status: "idle", data: undefined, error: undefined } as const;
export const LOADING = { status: "loading", data: undefined, error: undefined } as const;

const isPageHidden = () => typeof document !== "undefined" && document.visibilityState === "hidden";

/** One resource: read and followed once for all components that show it, and forgotten when none does. */
class SharedRead<Data> {
  state: Read<Data> = LOADING;
  readonly #listeners = new Set<() => void>();
  readonly #outputs = new Map<string, Output>();
  #run: AbortController | undefined;

  constructor(
    readonly read: (publish: Publish<Data>, signal: AbortSignal) => Promise<unknown>,
    readonly forget: () => void,
  ) {}

  /** `before`: data that was read elsewhere. Its files keep their URLs. */
  subscribe(listener: () => void, before: unknown): () => void {
    if (before !== undefined) keepUrls(JSON.parse(JSON.stringify(before)), this.#outputs); // a copy, because it is changed
    if (this.#listeners.size === 0) globalThis.document?.addEventListener("visibilitychange", this.#settle);
    this.#listeners.add(listener);
    // Delayed, because in one commit the last component can unmount and another one mount, as under StrictMode.
    queueMicrotask(this.#settle);
    return () => {
      this.#listeners.delete(listener);
      queueMicrotask(this.#settle);
    };
  }

  /** Reads and follows again. `withNewUrls`: for a file that no longer loads. */
  readAgain({ withNewUrls = false } = {}): void {
    if (withNewUrls) this.#outputs.clear();
    this.#stop();
    const { status, data } = this.state;
    if (status === "failed") this.#set({ status: data === undefined ? "loading" : "ready", data, error: undefined });
    this.#settle();
  }

  /** Shows a change before it is read. */
  change(edit: (data: Data) => Data): void {
    if (this.state.data !== undefined) this.#set({ ...this.state, data: edit(this.state.data) });
  }

  readonly #settle = (): void => {
    const isUnused = this.#listeners.size === 0;
    if (isUnused || isPageHidden()) this.#stop();
    else this.#start();
    if (!isUnused) return;
    globalThis.document?.removeEventListener("visibilitychange", this.#settle);
    this.forget();
  };

  #start(): void {
    if (this.#run) return;
    this.#run = new AbortController();
    const { signal } = this.#run;
    const publish: Publish<Data> = (data, error) => {
      if (signal.aborted) return;
      keepUrls(data, this.#outputs);
      this.#set({ status: error ? "failed" : "ready", data, error });
    };
    this.read(publish, signal).catch((error: unknown) => publish(this.state.data, asKeyframeError(error)));
  }

  #stop(): void {
    this.#run?.abort();
    this.#run = undefined;
  }

  #set(state: Read<Data>): void {
    this.state = state;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** A call throws a TypeError for an id that no URL can have. */
const asKeyframeError = (error: unknown): KeyframeError =>
  error instanceof KeyframeError ? error : new KeyframeError("invalid_request", String(error));

/** All resources of one kind that components show. A key is an id, or the query as JSON. */
export class SharedReads<Data> {
  readonly #reads = new Map<string, SharedRead<Data>>();

  constructor(readonly read: Reader<Data>) {}

  /** Undefined when no component shows it. */
  get(key: string): SharedRead<Data> | undefined {
    return this.#reads.get(key);
  }

  /** Reads the shown resources again, or those whose key matches. */
  readAgain(matches = (_key: string) => true): void {
    for (const [key, read] of this.#reads) if (matches(key)) read.readAgain();
  }

  subscribe(key: string, listener: () => void, before?: unknown): () => void {
    const known = this.#reads.get(key);
    if (known) return known.subscribe(listener, before);
    const made: SharedRead<Data> = new SharedRead<Data>(
      (publish, signal) => this.read(key, publish, signal),
      () => this.#reads.get(key) === made && this.#reads.delete(key),
    );
    this.#reads.set(key, made);
    return made.subscribe(listener, before);
  }
}
