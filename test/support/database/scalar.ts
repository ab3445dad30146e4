import type postgres from "postgres";

/** The first column of a query's first row. */
export const scalar = async (query: PromiseLike<readonly postgres.Row[]>): Promise<postgres.Row[string]> =>
  Object.values((await query)[0] ?? {})[0];
