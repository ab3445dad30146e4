/** Settles as the work does, or as `late` does when the work takes longer. The work itself continues. */
export async function within<T, Late>(work: PromiseLike<T>, ms: number, late: () => Late): Promise<T | Late> {
  const timeout = Promise.withResolvers<void>();
  const timer = setTimeout(timeout.resolve, ms);
  return await Promise.race([work, timeout.promise.then(late)]).finally(() => clearTimeout(timer));
}

/** Settles as the work does, or throws the signal's reason when it aborts first. */
export async function untilAborted<T>(signal: AbortSignal, work: PromiseLike<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
