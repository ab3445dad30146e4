import { Webhook } from "standardwebhooks";
import { type Connection, serveHttp } from "../../local/simulator/serve-http.ts";
import type { RunningSimulator } from "../../local/simulator/start-simulator.ts";

export type WirePrediction = {
  id: string;
  status: string;
  input: Record<string, unknown>;
  output: string | string[] | null;
  logs: string;
  error: string | null;
  data_removed: boolean;
  started_at: string | null;
  completed_at: string | null;
  webhook?: string;
  urls: { get: string; cancel: string };
};

/** Asks again and again until `ask` gives something other than null; fails after `boundMs`. */
export async function until<T>(ask: () => T | null | Promise<T | null>, boundMs = 15_000): Promise<T> {
  const end = Date.now() + boundMs;
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    if (Date.now() > end) throw new Error(`nothing came within ${boundMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A plain request to the API: the `replicate` package repeats some failed requests by itself, which would hide faults. */
export function request(simulator: RunningSimulator, method: string, path: string, body?: unknown, headers = {}) {
  return fetch(`${simulator.apiUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${simulator.token}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

export async function wire(response: Response): Promise<WirePrediction> {
  // The shape of the simulator's own JSON, which the tests that use it check field by field.
  return (await response.json()) as WirePrediction;
}

/** Creates a prediction of google/nano-banana (or `model`) by a plain request. */
export function create(
  simulator: RunningSimulator,
  prompt: string,
  { model = "google/nano-banana", input = {}, headers = {}, ...rest }: Record<string, unknown> = {},
): Promise<Response> {
  const body = { input: { prompt, ...Object(input) }, ...rest };
  return request(simulator, "POST", `/models/${model}/predictions`, body, Object(headers));
}

export async function get(simulator: RunningSimulator, id: string): Promise<WirePrediction> {
  return await wire(await request(simulator, "GET", `/predictions/${id}`));
}

/** Waits until a prediction has ended. How long a film takes depends on the machine, so that only a stop in its progress is a failure. */
export async function ended(simulator: RunningSimulator, id: string): Promise<WirePrediction> {
  for (let seen = ""; ; ) {
    const prediction = await until(async () => {
      const now = await get(simulator, id);
      return now.status + now.logs === seen ? null : now;
    });
    if (!["starting", "processing"].includes(prediction.status)) return prediction;
    seen = prediction.status + prediction.logs;
  }
}

/** Creates a prediction and waits until it has ended. */
export async function run(simulator: RunningSimulator, prompt: string, options = {}): Promise<WirePrediction> {
  return await ended(simulator, (await wire(await create(simulator, prompt, options))).id);
}

export type Received = { messageId: string; genuine: boolean; event: WirePrediction };

/** A server that takes callbacks and answers with the statuses given in turn, then 200. */
export async function startReceiver(secret: string, statuses: number[] = []) {
  const received: Received[] = [];
  const handle = async (request: Request, _connection: Connection): Promise<Response> => {
    const text = await request.text();
    let genuine = true;
    try {
      new Webhook(secret).verify(text, Object.fromEntries(request.headers));
    } catch {
      genuine = false;
    }
    const event: WirePrediction = JSON.parse(text);
    received.push({ messageId: request.headers.get("webhook-id") ?? "", genuine, event });
    const status = statuses.shift() ?? 200;
    return new Response(null, { status, headers: { location: "/elsewhere" } });
  };
  const server = await serveHttp(handle, 0);
  return { url: `http://127.0.0.1:${server.port}/hook`, received, stop: server.stop };
}
