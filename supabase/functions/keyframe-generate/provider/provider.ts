import type Replicate from "replicate";
import { z } from "zod";
import { fetchOnce } from "../../../../shared/platform/fetch-once.ts";
import { type ProviderPrediction, providerPrediction } from "../../../../shared/replicate/provider-prediction.ts";
import { ProviderError, readRefusal } from "./provider-error.ts";

const TIMEOUT_MS = 20_000;

const { status, logs } = providerPrediction.shape;
/** A run with an id has been paid for. Refusing an unknown status would submit it and pay for it again. Polls read the rest. */
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

/** Each request takes at most 20 s, and `create` sends only one. All methods throw ProviderError. */
export function createProvider(settings: ProviderSettings) {
  const get = async (id: string, signal: AbortSignal) =>
    parse(providerPrediction, await once(settings, signal, (r) => r.predictions.get(id)));
  return {
    get,
    async create(
      { model, input, cancelAfterSeconds, webhook }: NewRun,
      signal: AbortSignal,
    ): Promise<ProviderPrediction> {
      // replicate.predictions.create cannot send Cancel-After.
      const callback = webhook === null ? {} : { webhook, webhook_events_filter: ["start", "logs", "completed"] };
      const headers = { "Cancel-After": `${cancelAfterSeconds}s` };
      // A community model is run by its version. An official model has no version.
      const version = model.includes(":") ? { version: model } : {};
      const route = model.includes(":") ? "/predictions" : `/models/${model}/predictions`;
      const options = { method: "POST", headers, data: { input, ...version, ...callback } };
      const ask = async (replicate: Replicate) => (await replicate.request(route, options)).json();
      return parse(accepted, await once(settings, signal, ask));
    },
    /** Returns the run, which may have ended before the call. */
    async cancel(id: string, signal: AbortSignal) {
      try {
        return parse(providerPrediction, await once(settings, signal, (r) => r.predictions.cancel(id)));
      } catch (error) {
        const hasEnded = error instanceof ProviderError && [409, 410, 422].includes(error.status ?? 0);
        if (!hasEnded) throw error;
        return await get(id, signal);
      }
    },
    /** One page of the account's runs, newest first. `query` is null or the `next` of the previous page. */
    async list(since: Date, query: string | null, signal: AbortSignal) {
      // replicate.predictions.list takes no parameters. Only the query of `next` is used, so that the token goes to no other host.
      const search = query ?? `?created_after=${encodeURIComponent(since.toISOString())}`;
      const ask = async (replicate: Replicate) => (await replicate.request(`/predictions${search}`, {})).json();
      const { next, results } = parse(page, await once(settings, signal, ask));
      // An entry of another shape is not one of our runs.
      const runs = results.flatMap((one) => listed.safeParse(one).data ?? []);
      return { runs, next: next ? new URL(next).search : null };
    },
    /** Uploads an input file of a prediction and returns the URL from which a model can read it. */
    upload: async (file: Blob, prediction: string, signal: AbortSignal) =>
      parse(uploaded, await once(settings, signal, (r) => r.files.create(file, { prediction }))).urls.get,
    /** The prediction that a file was uploaded for; null when the URL is not one of our uploads. */
    async uploadedFor(address: string, signal: AbortSignal) {
      const [, id] = /\/files\/([A-Za-z0-9_-]{1,100})$/.exec(address) ?? [];
      if (id === undefined) return null;
      try {
        return parse(described, await once(settings, signal, (r) => r.files.get(id))).metadata?.prediction ?? null;
      } catch (error) {
        if (error instanceof ProviderError && error.status === 404) return null;
        throw error;
      }
    },
  };
}
export type Provider = ReturnType<typeof createProvider>;

/**
 * Makes the SDK send only one request. The SDK has no option for that. It repeats every request that threw: a create whose answer is lost
 * could be paid for six times. It repeats every 429 up to five times without a pause. So its fetch never throws. It returns a success
 * unchanged, and for everything else 418, which the SDK does not repeat. The real error is thrown afterwards.
 */
async function once<Answer>(
  { token, baseUrl, fetch, now }: ProviderSettings,
  signal: AbortSignal,
  call: (replicate: Replicate) => Promise<Answer>,
): Promise<Answer> {
  let failure: ProviderError | null = null;
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const single: typeof fetch = async (input, init) => {
    try {
      const response = await fetchOnce(fetch)(input, { ...init, redirect: "manual", signal: bounded });
      if (response.ok) return response;
      failure = await readRefusal(response, now());
    } catch (cause) {
      failure = new ProviderError(null, { cause });
    }
    return new Response(null, { status: 418 });
  };
  // Loaded with the first request, so that the answer to the first kick does not wait for it.
  const { default: Replicate } = await import("replicate");
  try {
    return await call(new Replicate({ auth: token, baseUrl, fetch: single }));
  } catch (cause) {
    throw failure ?? new ProviderError(null, { cause });
  }
}

/** An answer of another shape does not show whether the call had its effect, so it counts as unanswered. */
function parse<Shape extends z.ZodType>(shape: Shape, answer: unknown): z.infer<Shape> {
  const parsed = shape.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new ProviderError(null, { cause: new Error("the answer has another shape", { cause: parsed.error }) });
}
