/** Sizes of a hosted project's machine: https://supabase.com/docs/guides/platform/compute-and-disk, read in November 2026. */
export const COMPUTE_SIZES = [
  { name: "Micro (2 shared cores, 1 GB)", cores: 2 },
  { name: "Large (2 cores, 8 GB)", cores: 2 },
  { name: "XL (4 cores, 16 GB)", cores: 4 },
  { name: "4XL (16 cores, 64 GB)", cores: 16 },
] as const;

/** Of the cores, what our statements may use: PostgREST, Auth, Storage, vacuum and peaks need the rest. */
export const SHARE = 0.5;

/** What one generation asks for in a mix as an app makes it. */
export const MIX = { statusReads: 20, deliveries: 2 };

/** ms of Postgres' processor time for one of each. */
export type Costs = { create: number; run: number; status: number; delivery: number };

/** Of so many cores: how many a second, of one thing alone. */
export const perSecond = (cores: number, ms: number): number => (cores * 1000 * SHARE) / ms;

/** One run with what goes with it. Who looks as late as Retry-After says has the row read each time, also where nothing is new. */
export const costOfMix = ({ run, status, delivery }: Costs): number =>
  run + MIX.statusReads * status + MIX.deliveries * delivery;

/** What a plan includes a month: https://supabase.com/docs/guides/platform/org-based-billing, read in November 2026. */
export const PLANS = [
  { name: "Free", invocations: 500_000, databaseBytes: 500_000_000 },
  { name: "Pro", invocations: 2_000_000, databaseBytes: 8_000_000_000 },
] as const;

/** Of one run at the provider: its start, its end, and its log at most twice a second, here for 15 seconds. */
export const CALLBACKS = 32;

/** https://supabase.com/docs/guides/functions/limits */
export const CPU_MS_OF_A_REQUEST = 2_000;

/** Calls of functions for one run of the mix; `kicks` as measured for one. */
export const invocationsOfMix = (kicks: { run: number; delivery: number }): number =>
  1 + MIX.statusReads + CALLBACKS + kicks.run + MIX.deliveries * kicks.delivery;
