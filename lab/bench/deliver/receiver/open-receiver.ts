import { startProcess } from "../start-process.ts";
import type { Report } from "./report.ts";

export type Receiver = {
  /** The address of an endpoint. */
  url(endpoint: number): string;
  /** Forgets what came so far. From now on these endpoints never answer. */
  begin(hanging: number[]): Promise<void>;
  /** Resolves when so many different events have come to endpoints that answer. Throws when they do not come in time. */
  waitFor(events: number, patienceMs: number): Promise<void>;
  /** Answers what hangs, and from now on everything. */
  release(): Promise<void>;
  report(): Promise<Report>;
  close(): Promise<void>;
};

/** A receiver in a process of its own, so that its work is not counted as the sender's more than need be. */
export async function openReceiver(): Promise<Receiver> {
  const { port, close } = await startProcess(new URL("receiver-process.ts", import.meta.url));
  const url = (path: string) => `http://127.0.0.1:${port}/${path}`;
  const control = async (name: string, init: RequestInit = {}): Promise<Response> => {
    const response = await fetch(url(`control/${name}`), init);
    if (!response.ok) throw new Error(`The receiver answered ${response.status}.`);
    return response;
  };
  const report = async (): Promise<Report> => (await control("report")).json();
  return {
    url: (endpoint) => url(`e/${endpoint}`),
    begin: async (hanging) => void (await control("begin", { method: "POST", body: JSON.stringify(hanging) })),
    release: async () => void (await control("release", { method: "POST" })),
    waitFor: async (events, patienceMs) => {
      try {
        await control(`wait?events=${events}`, { signal: AbortSignal.timeout(patienceMs) });
      } catch (error) {
        const { arrivals } = await report();
        throw new Error(`${arrivals.length} of ${events} events had come after ${patienceMs} ms.`, { cause: error });
      }
    },
    report,
    close,
  };
}
