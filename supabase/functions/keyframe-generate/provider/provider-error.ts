import { z } from "zod";
import { jsonText } from "../../../../shared/platform/environment.ts";
import { providerSentence } from "../../../../shared/platform/log.ts";

/**
 * A failed call of the provider. `status` is null without a complete answer: the call may have had its effect.
 * `explanation` is the provider's explanation, safe to show to the owner.
 */
export class ProviderError extends Error {
  readonly status: number | null;
  readonly explanation: string;
  readonly retryAfterSeconds: number | null;

  constructor(
    status: number | null,
    more: { explanation?: string; retryAfterSeconds?: number | null; cause?: unknown } = {},
  ) {
    super(status === null ? "the provider did not answer" : `the provider answered ${status}`, { cause: more.cause });
    this.name = "ProviderError";
    this.status = status;
    this.explanation = more.explanation ?? "";
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
  }
}

const problem = z.object({ detail: z.unknown(), title: z.unknown(), retry_after: z.unknown() }).partial();

const MAX_BYTES = 64 * 1024;
const LONGEST_WAIT_SECONDS = 3600;

/** Reads an error response. Never throws, even when the body cannot be read. */
export async function readRefusal(response: Response, now: number): Promise<ProviderError> {
  const body = await readBody(response).catch(() => "");
  const { detail, title, retry_after } = jsonText.pipe(problem).safeParse(body).data ?? {};
  return new ProviderError(response.status, {
    explanation: providerSentence(detail ?? title),
    retryAfterSeconds: readWait(retry_after) ?? readWait(response.headers.get("retry-after"), now),
  });
}

async function readBody(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) break;
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

/** Seconds from a number, its text, or an HTTP date. */
function readWait(given: unknown, now?: number): number | null {
  if (given === null || given === undefined || given === "") return null;
  const seconds = Number(given);
  const wait = Number.isNaN(seconds) && now !== undefined ? (Date.parse(String(given)) - now) / 1000 : seconds;
  return Number.isFinite(wait) ? Math.min(Math.max(wait, 0), LONGEST_WAIT_SECONDS) : null;
}
