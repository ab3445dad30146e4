import { z } from "zod";
import { type ProviderPrediction, providerPrediction } from "../../../../shared/replicate/provider-prediction.ts";
import { unrepeatableBody } from "../../../../shared/platform/call-database.ts";
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

/** Each request takes at most 20 s, and `create` makes one only. All throw ProviderError. */
export type Provider = {
  create(run: NewRun, signal: AbortSignal): Promise<ProviderPrediction>;
  get(id: string, signal: AbortSignal): Promise<ProviderPrediction>;
  /** The run as it is afterwards, which may have ended before. */
  cancel(id: string, signal: AbortSignal): Promise<ProviderPrediction>;
  /** One page of the account's runs, newest first. `query` is null or the `next` of the page before. */
  list(
    since: Date,
    query: string | null,
    signal: AbortSignal,
  ): Promise<{ runs: ListedPrediction[]; next: string | null }>;
  /** Uploads an input file of a prediction and returns the URL from which a model can read it. */
  upload(file: Blob, predictionId: string, signal: AbortSignal): Promise<string>;
  /** The prediction that a file was uploaded for; null when the URL is not of an upload of ours. */
  uploadedFor(address: string, signal: AbortSignal): Promise<string | null>;
};

export type ProviderSettings = {
  token: string;
  baseUrl: string;
  fetch: typeof fetch;
  now(): number;
};

/**
 * With fetch alone: the package replicate repeats refused and broken requests, also a create, and has no option against it. Six paid runs
 * were made instead of one.
 */
export function createProvider({ token, baseUrl, fetch, now }: ProviderSettings): Provider {
  async function ask<Shape extends z.ZodType>(
    shape: Shape,
    route: string,
    signal: AbortSignal,
    init: { method?: "POST"; headers?: Record<string, string>; body?: string | FormData } = {},
  ): Promise<z.infer<Shape>> {
    const headers = { authorization: `Bearer ${token}`, ...init.headers };
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const once = { ...init, ...unrepeatableBody(init.body), headers, redirect: "manual", signal: bounded } as const;
    try {
      const response = await fetch(baseUrl + route, once);
      if (!response.ok) throw await readRefusal(response, now());
      const parsed = shape.safeParse(await response.json());
      if (parsed.success) return parsed.data;
      throw new Error("the answer has another shape", { cause: parsed.error });
    } catch (cause) {
      // An answer that cannot be read does not show whether the call had its effect, so it counts as none.
      throw cause instanceof ProviderError ? cause : new ProviderError(null, { cause });
    }
  }
  const get = (id: string, signal: AbortSignal) => ask(providerPrediction, `/predictions/${id}`, signal);

  return {
    get,
    create({ model, input, cancelAfterSeconds, webhook }, signal) {
      const callback = webhook === null ? {} : { webhook, webhook_events_filter: ["start", "logs", "completed"] };
      const headers = { "content-type": "application/json", "cancel-after": `${cancelAfterSeconds}s` };
      // A community model runs by a version; a model of the provider's own has none.
      const version = model.includes(":") ? { version: model } : {};
      const route = model.includes(":") ? "/predictions" : `/models/${model}/predictions`;
      const body = JSON.stringify({ input, ...version, ...callback });
      return ask(accepted, route, signal, { method: "POST", headers, body });
    },
    async cancel(id, signal) {
      try {
        return await ask(providerPrediction, `/predictions/${id}/cancel`, signal, { method: "POST" });
      } catch (error) {
        const hasEnded =
          error instanceof ProviderError && error.status !== null && [409, 410, 422].includes(error.status);
        if (!hasEnded) throw error;
        return await get(id, signal);
      }
    },
    async list(since, query, signal) {
      // Only the query of `next` is used, so that the token goes to no other host.
      const search = query ?? `?created_after=${encodeURIComponent(since.toISOString())}`;
      const { next, results } = await ask(page, `/predictions${search}`, signal);
      // An entry of another shape is not a run of ours.
      const runs = results.flatMap((one) => listed.safeParse(one).data ?? []);
      return { runs, next: next ? new URL(next).search : null };
    },
    async upload(file, prediction, signal) {
      const body = new FormData();
      body.append("content", file);
      body.append("metadata", new Blob([JSON.stringify({ prediction })], { type: "application/json" }));
      return (await ask(uploaded, "/files", signal, { method: "POST", body })).urls.get;
    },
    async uploadedFor(address, signal) {
      const [, id] = /\/files\/([A-Za-z0-9_-]{1,100})$/.exec(address) ?? [];
      if (id === undefined) return null;
      try {
        return (await ask(described, `/files/${id}`, signal)).metadata?.prediction ?? null;
      } catch (error) {
        if (error instanceof ProviderError && error.status === 404) return null;
        throw error;
      }
    },
  };
}
