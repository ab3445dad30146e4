import { z } from "zod";
import { type ProviderPrediction, providerPrediction } from "../../../../shared/replicate/provider-prediction.ts";
import { unrepeatableBody } from "../../../../shared/http/unrepeatable-body.ts";
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

/** Each call is at most one HTTP request, of at most 20 s, and throws ProviderError. */
export type Provider = {
  create(run: NewRun, signal: AbortSignal): Promise<ProviderPrediction>;
  get(id: string, signal: AbortSignal): Promise<ProviderPrediction>;
  cancel(id: string, signal: AbortSignal): Promise<void>;
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
 * Without the package replicate, which sends what had no answer again, also a create (six paid runs instead of one), and has no option
 * against it.
 */
export function createProvider({ token, baseUrl, fetch, now }: ProviderSettings): Provider {
  async function call<Shape extends z.ZodType>(
    shape: Shape,
    path: string,
    signal: AbortSignal,
    init: RequestInit = {},
  ): Promise<z.infer<Shape>> {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${token}`);
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    let answer: unknown;
    try {
      const response = await fetch(baseUrl + path, { ...init, headers, redirect: "manual", signal: bounded });
      if (!response.ok) throw await readRefusal(response, now());
      answer = await response.json();
    } catch (cause) {
      throw cause instanceof ProviderError ? cause : new ProviderError(null, { cause });
    }
    const parsed = shape.safeParse(answer);
    if (parsed.success) return parsed.data;
    // An answer of another shape does not show whether the call had its effect, so it counts as unanswered.
    throw new ProviderError(null, { cause: new Error("the answer has another shape", { cause: parsed.error }) });
  }

  return {
    create: async ({ model, input, cancelAfterSeconds, webhook }, signal) => {
      const callback = webhook === null ? {} : { webhook, webhook_events_filter: ["start", "logs", "completed"] };
      const headers = { "content-type": "application/json", "cancel-after": `${cancelAfterSeconds}s` };
      const body = unrepeatableBody(JSON.stringify({ input, ...callback }));
      return await call(accepted, `/models/${model}/predictions`, signal, { method: "POST", headers, ...body });
    },
    get: async (id, signal) => await call(providerPrediction, `/predictions/${id}`, signal),
    cancel: async (id, signal) =>
      void (await call(z.unknown(), `/predictions/${id}/cancel`, signal, { method: "POST" })),
    async list(since, query, signal) {
      // Only the query of `next` is used, so that the token goes to no other host.
      const search = query ?? `?created_after=${encodeURIComponent(since.toISOString())}`;
      const { next, results } = await call(page, `/predictions${search}`, signal);
      // An entry of another shape is not a run of ours.
      const runs = results.flatMap((one) => listed.safeParse(one).data ?? []);
      return { runs, next: next ? new URL(next).search : null };
    },
    async upload(file, prediction, signal) {
      const body = new FormData();
      body.append("content", file);
      body.append("metadata", new Blob([JSON.stringify({ prediction })], { type: "application/json" }));
      return (await call(uploaded, "/files", signal, { method: "POST", body })).urls.get;
    },
    async uploadedFor(address, signal) {
      const [, id] = /\/files\/([A-Za-z0-9_-]{1,100})$/.exec(address) ?? [];
      if (id === undefined) return null;
      try {
        return (await call(described, `/files/${id}`, signal)).metadata?.prediction ?? null;
      } catch (error) {
        if (error instanceof ProviderError && error.status === 404) return null;
        throw error;
      }
    },
  };
}
