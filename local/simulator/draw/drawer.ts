import type { OutputBytes } from "../stored-files.ts";
import type { FromWorker, Job, ToWorker } from "./worker.ts";

type Waiting = {
  onProgress: (frame: number) => void;
  resolve: (output: OutputBytes) => void;
  reject: (error: unknown) => void;
};

/**
 * Draws pictures or films in a worker, one after the other, so that the server answers meanwhile. The worker starts with
 * the first one and keeps the compiled encoder.
 */
export class Drawer {
  #worker: Worker | null = null;
  #lastId = 0;
  #turn: Promise<unknown> = Promise.resolve();
  readonly #waiting = new Map<number, Waiting>();

  /** The finished file. `onProgress` gets 0 when the work begins, then the number of frames done. Rejects with the signal's reason. */
  draw(job: Job, onProgress: (frame: number) => void, signal: AbortSignal): Promise<OutputBytes> {
    const drawn = this.#turn.then(() => {
      signal.throwIfAborted();
      onProgress(0);
      return this.#send(job, onProgress, signal);
    });
    this.#turn = drawn.catch(() => {});
    return drawn;
  }

  stop(): void {
    this.#end(new Error("the simulator stops"));
  }

  #send(job: Job, onProgress: (frame: number) => void, signal: AbortSignal): Promise<OutputBytes> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    this.#lastId += 1;
    const id = this.#lastId;
    const post = (message: ToWorker) => worker.postMessage(message);
    const { promise, resolve, reject } = Promise.withResolvers<OutputBytes>();
    const cancel = () => {
      post({ id, job: null });
      reject(signal.reason);
    };
    this.#waiting.set(id, { onProgress, resolve, reject });
    signal.addEventListener("abort", cancel, { once: true });
    post({ id, job });
    return promise.finally(() => {
      signal.removeEventListener("abort", cancel);
      this.#waiting.delete(id);
    });
  }

  #start(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url).href, { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      const waiting = this.#waiting.get(data.id);
      if ("frame" in data) waiting?.onProgress(data.frame);
      else if ("output" in data) waiting?.resolve(data.output);
      else waiting?.reject(new Error(data.error));
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.#end(new Error(`drawing worker: ${event.message}`));
    };
    return worker;
  }

  #end(reason: Error): void {
    this.#worker?.terminate();
    this.#worker = null;
    for (const waiting of this.#waiting.values()) waiting.reject(reason);
  }
}
