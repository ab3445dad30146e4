import { z } from "zod";
import { fetchOnce } from "../../../../shared/platform/retry.ts";
import { type ProviderPrediction, providerPrediction } from "../../../../shared/replicate/provider-prediction.ts";
import { ProviderError, readRefusal } from "./provider-error.ts";

const TIMEOUT_MS = 20_000;

const { status, logs } = providerPrediction.shape;
/** A run with an id is paid for. If a new status made its answer unreadable, it would be submitted and paid again. Polls read the rest. */
const accepted = providerPrediction.extend({ status: status.catch("starting"), logs: logs.catch(null) });
/** A run in the list. Any field may be missing; inputs are deleted after an hour. */
const listed = accepted.extend({
  model: z.string().nullish(),
  input: z.record(z.string(), z.unknown()).catch({}),
  webhook: z.string().nullish(),
  created_at: z.string().nullish(),
});
export type ListedPrediction = z.infer<typeof listed>;
const page = z.object({ next: z.string().nullish(), results: z.array(z.unknown()) });
const uploaded = z.object({ urls: z.object({ get: z.url() }) });
const described = z.object({ metadata: z.object({ prediction: z.string() }).nullable().catch(null) });

export type NewRun = {
  model: string;
  input: Record<string, unknown>;
  /** The provider ends the run after this time. */
  cancelAfterSeconds: number;
  /** Null when the provider cannot reach the platform. */
  webhook: string | null;
};

type ProviderSettings = {
  token: string;
  baseUrl: string;
  fetch: typeof fetch;
  now(): number;
};

/** Each call makes one request (`cancel` may make two), of at most 20 s. All throw ProviderError. */
export function createProvider({ token, baseUrl, fetch, now }: ProviderSettings) {
  /** Not by Replicate's client: it repeats requests, also a create whose answer was lost, and cannot be told not to. */
  async function send<Shape extends z.ZodType>(
    shape: Shape,
    route: string,
    signal: AbortSignal,
    { headers, ...init }: RequestInit & { headers?: Record<string, string> } = {},
  ): Promise<z.infer<Shape>> {
    try {
      const response = await fetchOnce(fetch)(`${baseUrl}${route}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, ...headers },
        redirect: "manual",
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      if (!response.ok) throw await readRefusal(response, now());
      const { success, data, error } = shape.safeParse(await response.json());
      if (success) return data;
      // That does not show whether the call had its effect, so it counts as unanswered.
      throw new Error("the answer has another shape", { cause: error });
    } catch (cause) {
      throw cause instanceof ProviderError ? cause : new ProviderError(null, { cause });
    }
  }

  const get = (id: string, signal: AbortSignal) => send(providerPrediction, `/predictions/${id}`, signal);
  return {
    get,
    create({ model, input, cancelAfterSeconds, webhook }: NewRun, signal: AbortSignal): Promise<ProviderPrediction> {
      const callback = webhook === null ? {} : { webhook, webhook_events_filter: ["start", "logs", "completed"] };
      // A community model runs by a version; a model of the provider's own has none.
      const version = model.includes(":") ? { version: model } : {};
      return send(accepted, model.includes(":") ? "/predictions" : `/models/${model}/predictions`, signal, {
        method: "POST",
        headers: { "content-type": "application/json", "cancel-after": `${cancelAfterSeconds}s` },
        body: JSON.stringify({ input, ...version, ...callback }),
      });
    },
    /** Returns the run, which may have ended before. */
    async cancel(id: string, signal: AbortSignal) {
      try {
        return await send(providerPrediction, `/predictions/${id}/cancel`, signal, { method: "POST" });
      } catch (error) {
        const hasEnded = error instanceof ProviderError && [409, 410, 422].includes(error.status ?? 0);
        if (!hasEnded) throw error;
        return await get(id, signal);
      }
    },
    /** One page of the account's runs, newest first. `query` is null or the `next` of the previous page. */
    async list(since: Date, query: string | null, signal: AbortSignal) {
      // Only the query of `next` is used, so that the token goes to no other host.
      const search = query ?? `?created_after=${encodeURIComponent(since.toISOString())}`;
      const { next, results } = await send(page, `/predictions${search}`, signal);
      // An entry of another shape is not one of our runs.
      const runs = results.flatMap((one) => listed.safeParse(one).data ?? []);
      return { runs, next: next ? new URL(next).search : null };
    },
    /** Uploads an input file of a prediction and returns the URL from which a model can read it. */
    async upload(file: File, prediction: string, signal: AbortSignal) {
      const body = new FormData();
      body.append("content", file);
      body.append("metadata", new Blob([JSON.stringify({ prediction })], { type: "application/json" }));
      return (await send(uploaded, "/files", signal, { method: "POST", body })).urls.get;
    },
    /** The prediction that a file was uploaded for; null when the URL is not one of our uploads. */
    async uploadedFor(address: string, signal: AbortSignal) {
      const [, id] = /\/files\/([A-Za-z0-9_-]{1,100})$/.exec(address) ?? [];
      if (id === undefined) return null;
      try {
        return (await send(described, `/files/${id}`, signal)).metadata?.prediction ?? null;
      } catch (error) {
        if (error instanceof ProviderError && error.status === 404) return null;
        throw error;
      }
    },
  };
}
export type Provider = ReturnType<typeof createProvider>;
