export const MAX_OUTPUT_BYTES = 200 * 1024 * 1024;
const IDLE_MS = 20_000;

/** The output could not be copied. The message is for the owner. */
export class OutputError extends Error {
  constructor(
    readonly code: "output_expired" | "output_unreachable" | "output_too_large" | "output_not_usable",
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.name = "OutputError";
  }
}

export type OutputSource = {
  isAllowed(url: string): boolean;
  fetch: typeof fetch;
  maxBytes?: number;
  /** How long to wait for the next bytes, or for the response to begin. */
  idleMs?: number;
};

/**
 * Streams the bytes of an output, at most `maxBytes`. Redirects are not followed, because they could leave the allowed hosts.
 * Throws OutputError, even when the body ends early. Leaving the loop ends the transfer.
 */
export async function* readOutput(url: string, source: OutputSource, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const { isAllowed, fetch, maxBytes = MAX_OUTPUT_BYTES, idleMs = IDLE_MS } = source;
  if (!isAllowed(url))
    throw new OutputError("output_not_usable", "The address of the provider's output is not allowed.");
  const idle = new AbortController();
  const ended = AbortSignal.any([signal, idle.signal]);
  const withinIdleLimit = async <Value>(next: Promise<Value>): Promise<Value> => {
    const timer = setTimeout(() => idle.abort(), idleMs);
    return await next.catch((cause) => Promise.reject(unreachable(cause))).finally(() => clearTimeout(timer));
  };

  const headers = { "accept-encoding": "identity" };
  const response = await withinIdleLimit(fetch(url, { redirect: "manual", headers, signal: ended }));
  const reader = response.body?.getReader();
  try {
    requireOk(response.status);
    const declared = response.headers.get("content-length");
    if (Number(declared) > maxBytes) throw tooLarge(maxBytes);
    let bytes = 0;
    for (;;) {
      const { done, value } = reader ? await withinIdleLimit(reader.read()) : { done: true, value: undefined };
      if (done || value === undefined) break;
      bytes += value.byteLength;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      yield value;
    }
    const encoded = response.headers.has("content-encoding");
    if (declared !== null && !encoded && bytes !== Number(declared))
      throw unreachable(new Error(`${bytes} of ${declared} bytes`));
  } finally {
    // Ends a transfer that is still in progress.
    await reader?.cancel().catch(() => undefined);
  }
}

function requireOk(status: number): void {
  if (status === 200) return;
  if (status === 403 || status === 404 || status === 410) {
    throw new OutputError("output_expired", "The provider no longer has the output. Run the step again.");
  }
  if (status >= 300 && status < 400) {
    throw new OutputError("output_not_usable", "The provider's output redirects to another address.");
  }
  throw unreachable(new Error(`the provider's file server answered ${status}`));
}

function unreachable(cause: unknown): OutputError {
  return new OutputError("output_unreachable", "The provider's output could not be fetched.", cause);
}

function tooLarge(maxBytes: number): OutputError {
  const most = Math.floor(maxBytes / 1024 / 1024);
  return new OutputError("output_too_large", `The provider's output is larger than ${most} MiB.`);
}
