/** As the work ends, or as `late` does when the work takes longer. The work itself goes on. */
export async function within<T, Late>(work: PromiseLike<T>, ms: number, late: () => Late): Promise<T | Late> {
  const timeout = Promise.withResolvers<void>();
  const timer = setTimeout(timeout.resolve, ms);
  return await Promise.race([work, timeout.promise.then(late)]).finally(() => clearTimeout(timer));
}
