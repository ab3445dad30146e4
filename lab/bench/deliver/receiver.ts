import { startProcess } from "./start-process.ts";

export type Receiver = {
  /** The URL of an endpoint. */
  url(endpoint: number): string;
  /** Clears the records. From now on these endpoints never answer. */
  begin(hanging: number[]): Promise<void>;
  /** Resolves when so many different events have come to endpoints that answer; throws when they do not in time. */
  waitFor(events: number, patienceMs: number): Promise<void>;
  /** Answers what hangs, and from now on everything. */
  release(): Promise<void>;
  report(): Promise<Report>;
  close(): Promise<void>;
};

/** A receiver in its own process, so that its work does not count as the sender's. */
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

/** What arrived at the endpoints that answer. */
export type Report = {
  /** When each event first came, in ms since 1970, in order. */
  arrivals: number[];
  /** More than the number of events when some came twice. */
  requests: number;
  bytes: number;
  samples: { endpoint: number; headers: [string, string][]; body: string }[];
  /** Events at endpoints that hang. */
  hung: number;
};
