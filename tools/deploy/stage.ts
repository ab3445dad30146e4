import type { DatabaseState } from "./database-state.ts";
import type { Progress, SecretKeeper } from "./reporting.ts";
import type { DeploySettings } from "./settings.ts";
import type { SupabaseCli } from "./supabase-cli.ts";

/** What the stages of a deployment share. */
export type Deployment = {
  settings: DeploySettings;
  cli: SupabaseCli;
  fetch: typeof fetch;
  clock: Clock;
  /** Asks the person at the terminal; without one, nothing is asked. */
  ask?: ((question: string) => string | null) | undefined;
  progress: Progress;
  keeper: SecretKeeper;
  /** Aborted by Ctrl-C. Programs and waits then end, and what is done is printed. */
  stop: AbortSignal;
  /** Results of earlier stages. */
  found: {
    secretDigests: Map<string, string>;
    signingSecret?: string;
    database?: DatabaseState;
    /** Versions of the app's own migrations. */
    foreignMigrations?: string[];
    kickSecret?: string;
  };
};

type Clock = { now(): number; sleep(ms: number): Promise<void>; timeout(ms: number): AbortSignal };

/** One part of a deployment: plans first, and changes only what differs. */
export type Stage = {
  name: string;
  /** Only reads. `says` is one line, `more` adds details; without `apply` there is nothing to change. */
  plan: (deployment: Deployment) => Promise<Plan>;
};

type Plan = { says: string; more?: string[]; apply?: () => Promise<string> };
