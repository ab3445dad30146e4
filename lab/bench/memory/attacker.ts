import { openUnfinished } from "./open-unfinished.ts";

/** Unfinished requests: so many, alike, each announcing more bytes than it sends. */
export type Unfinished = {
  url: string;
  headers: Record<string, string>;
  announced: number;
  sent: number;
  connections: number;
};

/** Opens them from a thread of its own, so that it takes no time of who measures. `opened`: all are open. */
export function startAttacker(unfinished: Unfinished): { opened: Promise<void>; end(): void } {
  const worker = new Worker(import.meta.url, { type: "module", name: "attacker" });
  const opened = new Promise<void>((resolve, reject) => {
    worker.onmessage = () => resolve();
    worker.onerror = (event) => reject(new Error(event.message));
  });
  worker.postMessage(unfinished);
  return { opened, end: () => worker.terminate() };
}

// What a worker has and a page has not.
const scope = globalThis as unknown as { name?: string; onmessage: unknown; postMessage(message: string): void };
if (scope.name === "attacker") {
  scope.onmessage = async ({ data }: MessageEvent<Unfinished>) => {
    const bytes = new Uint8Array(data.sent);
    for (let at = 0; at < data.connections; at++) await openUnfinished(data.url, data.headers, data.announced, bytes);
    scope.postMessage("opened");
  };
}
