import { DeployError, type SecretKeeper } from "./reporting.ts";
import type { DeploySettings } from "./settings.ts";
import type { SupabaseCli } from "./supabase-cli.ts";

/** Shared by the stages of a deployment. */
export type Deployment = {
  settings: DeploySettings;
  cli: SupabaseCli;
  fetch: typeof fetch;
  clock: { now(): number; sleep(ms: number): Promise<void>; timeout(ms: number): AbortSignal };
  /** Asks the user at the terminal; without a terminal it asks nothing. */
  ask?: ((question: string) => string | null) | undefined;
  keeper: SecretKeeper;
  /** Aborted by Ctrl-C. Programs and waits then end, and what is done is printed. */
  stop: AbortSignal;
  /** Results of earlier stages. */
  found: {
    secretDigests: Map<string, string>;
    signingSecret?: string;
    /** The versions of the migrations that the database has, the app's among them. */
    applied?: Set<string>;
    /** The migrations of the app among them. */
    foreign?: string[];
    isInstalled?: boolean;
    kickSecret?: string;
  };
};

/** One part of a deployment: plans first, and changes only what differs. */
export type Stage = {
  name: string;
  /** Only reads. `says` is one line, `more` adds details; without `apply` there is nothing to change. */
  plan: (deployment: Deployment) => Promise<{ says: string; more?: string[]; apply?: () => Promise<unknown> }>;
};

/** Runs stages; a dry run only prints what each would change. Throws at the first failure. */
export async function runStages(stages: Stage[], deployment: Deployment, print: (line: string) => void): Promise<void> {
  const { settings, stop } = deployment;
  const names = stages.map(({ name }) => name);
  const width = Math.max(...names.map(({ length }) => length)) + 2;
  for (const [index, { name, plan }] of stages.entries()) {
    try {
      const { says, more = [], apply } = await plan(deployment);
      print(`  ${name.padEnd(width)}${says}`);
      for (const line of more) print(`  ${"".padEnd(width)}  ${line}`);
      if (!apply || settings.dryRun) continue;
      await apply();
      print(`  ${"".padEnd(width)}done`);
    } catch (error) {
      if (!(error instanceof DeployError) && !stop.aborted) throw error;
      const why = error instanceof DeployError && !stop.aborted ? error.message : "It was stopped.";
      const done = names.slice(0, index).join(", ") || "nothing";
      const state = ` Done: ${done}. Not done: ${names.slice(index).join(", ")}. Continue with: npm run deploy -- --project ${settings.project}`;
      throw new DeployError(`${name}: ${why}${settings.dryRun ? "" : state}`);
    }
  }
}
