import type { DatabaseState } from "./read-database.ts";
import type { DeploySettings } from "./read-deploy-settings.ts";
import type { Progress } from "./progress.ts";
import type { SecretKeeper } from "./secret-keeper.ts";
import type { SupabaseCli } from "./supabase-cli.ts";

/** What the steps of one deployment have in common. */
export type Deployment = {
  settings: DeploySettings;
  cli: SupabaseCli;
  fetch: typeof fetch;
  clock: Clock;
  progress: Progress;
  keeper: SecretKeeper;
  /** What earlier steps found out for later ones. */
  found: {
    secretDigests: Map<string, string>;
    signingSecret?: string;
    database?: DatabaseState;
    kickSecret?: string;
  };
};

export type Clock = { now(): number; sleep(ms: number): Promise<void>; timeout(ms: number): AbortSignal };

/** One part of a deployment: looks first, and changes only what has to be. */
export type Step = {
  name: string;
  /** Reads only. `says` is one line; with `more` lines of detail; without `apply` there is nothing to change. */
  plan: (deployment: Deployment) => Promise<Plan>;
};

export type Plan = { says: string; more?: string[]; apply?: () => Promise<string> };
