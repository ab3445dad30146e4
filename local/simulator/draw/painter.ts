import type { OutputBytes } from "../outputs.ts";
import type { FromPainter, Picture, ToPainter } from "./messages.ts";

type Waiting = { resolve: (output: OutputBytes) => void; reject: (error: unknown) => void };

/**
 * Draws pictures in a worker of its own, one after the other, so that the server answers and calls back meanwhile, as a
 * provider does whose models run elsewhere. The worker starts with the first picture and lives on.
 */
export class Painter {
  #worker: Worker | null = null;
  #lastJob = 0;
  #turn: Promise<unknown> = Promise.resolve();
  readonly #waiting = new Map<number, Waiting>();

  /** The file of a picture. `onBegin` is told when its turn has come. Rejects with the signal's reason. */
  paint(picture: Picture, onBegin: () => void, signal: AbortSignal): Promise<OutputBytes> {
    const painted = this.#turn.then(() => {
      signal.throwIfAborted();
      onBegin();
      return this.#draw(picture, signal);
    });
    this.#turn = painted.catch(() => {});
    return painted;
  }

  stop(): void {
    this.#end(new Error("the simulator stops"));
  }

  #draw(picture: Picture, signal: AbortSignal): Promise<OutputBytes> {
    this.#worker ??= this.#start();
    this.#lastJob += 1;
    const message: ToPainter = { job: this.#lastJob, picture };
    const { promise, resolve, reject } = Promise.withResolvers<OutputBytes>();
    const cancel = () => reject(signal.reason);
    this.#waiting.set(message.job, { resolve, reject });
    signal.addEventListener("abort", cancel, { once: true });
    this.#worker.postMessage(message);
    return promise.finally(() => {
      signal.removeEventListener("abort", cancel);
      this.#waiting.delete(message.job);
    });
  }

  #start(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url).href, { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<FromPainter>) => {
      const waiting = this.#waiting.get(data.job);
      if (data.type === "done") waiting?.resolve(data.output);
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
