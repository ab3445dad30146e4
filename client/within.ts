import type { Clock } from "./clock.ts";

/**
 * Does work that the caller's signal, or the end of its time, cuts short; it rejects at once then, whether or not the work
 * heeds the signal it is given. Rejects with the signal's reason, or with what `late` makes.
 */
export async function within<T>(
  limit: { clock: Clock; ms: number; signal: AbortSignal | undefined; late: () => Error },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal } = limit;
  signal?.throwIfAborted();
  const end = new AbortController();
  const abort = () => end.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const cancel = limit.clock.after(limit.ms, () => end.abort(limit.late()));
  const cut = new Promise<never>((_, reject) => {
    end.signal.addEventListener("abort", () => reject(end.signal.reason), { once: true });
  });
  try {
    return await Promise.race([work(end.signal), cut]);
  } finally {
    cancel();
    signal?.removeEventListener("abort", abort);
  }
}
