import type { FilmPlan } from "./film-plan.ts";
import type { FilmJob, FromWorker, ToWorker } from "./messages.ts";

export type Film = { plan: FilmPlan; first: Uint8Array; last: Uint8Array | null };
type Waiting = {
  onProgress: (frame: number) => void;
  resolve: (mp4: Uint8Array) => void;
  reject: (error: unknown) => void;
};

/**
 * Makes videos in a worker of its own, one after the other, so that the server goes on answering meanwhile.
 * The worker starts with the first film and lives on, holding the encoder's compiled module.
 */
export class FilmMaker {
  #worker: Worker | null = null;
  #lastJob = 0;
  #turn: Promise<unknown> = Promise.resolve();
  readonly #waiting = new Map<number, Waiting>();

  /** The MP4 (H.264, no sound) of a film. `onProgress` gets the number of frames done. Rejects with the signal's reason. */
  make(film: Film, onProgress: (frame: number) => void, signal: AbortSignal): Promise<Uint8Array> {
    const made = this.#turn.then(() => this.#encode(film, onProgress, signal));
    this.#turn = made.catch(() => {});
    return made;
  }

  stop(): void {
    this.#worker?.terminate();
    this.#worker = null;
    for (const waiting of this.#waiting.values()) waiting.reject(new Error("the simulator stops"));
    this.#waiting.clear();
  }

  #encode(film: Film, onProgress: (frame: number) => void, signal: AbortSignal): Promise<Uint8Array> {
    signal.throwIfAborted();
    this.#worker ??= this.#start();
    const worker = this.#worker;
    this.#lastJob += 1;
    const job: FilmJob = { job: this.#lastJob, ...film };
    const cancel = () => {
      this.#post(worker, { type: "cancel", job: job.job });
      this.#waiting.get(job.job)?.reject(signal.reason);
    };
    return new Promise<Uint8Array>((resolve, reject) => {
      this.#waiting.set(job.job, { onProgress, resolve, reject });
      signal.addEventListener("abort", cancel, { once: true });
      this.#post(worker, { type: "encode", film: job });
    }).finally(() => {
      signal.removeEventListener("abort", cancel);
      this.#waiting.delete(job.job);
    });
  }

  #start(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url).href, { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      const waiting = this.#waiting.get(data.job);
      if (data.type === "progress") waiting?.onProgress(data.frame);
      else if (data.type === "done") waiting?.resolve(data.mp4);
      else waiting?.reject(new Error(data.error));
    };
    worker.onerror = (event) => {
      event.preventDefault();
      for (const waiting of this.#waiting.values()) waiting.reject(new Error(`video worker: ${event.message}`));
      worker.terminate();
      this.#worker = null;
    };
    return worker;
  }

  #post(worker: Worker, message: ToWorker): void {
    worker.postMessage(message);
  }
}
