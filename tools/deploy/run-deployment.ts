import { DeployError } from "./deploy-error.ts";
import type { Deployment, Step } from "./step.ts";
import { configStep } from "./step-config.ts";
import { dashboardStep } from "./step-dashboard.ts";
import { databaseStep } from "./step-database.ts";
import { extensionsStep } from "./step-extensions.ts";
import { functionsStep } from "./step-functions.ts";
import { healthStep } from "./step-health.ts";
import { migrationsStep } from "./step-migrations.ts";
import { projectStep } from "./step-project.ts";
import { replicateStep } from "./step-replicate.ts";
import { secretsStep } from "./step-secrets.ts";
import { vaultStep } from "./step-vault.ts";

/** Checks first, the database before the functions that need it, the proof last. */
const STEPS = [
  projectStep,
  replicateStep,
  databaseStep,
  configStep,
  migrationsStep,
  extensionsStep,
  vaultStep,
  secretsStep,
  functionsStep,
  healthStep,
];

/** Takes a project through all steps, or in a dry run says what each would change. Throws at the first that fails. */
export async function runDeployment(
  deployment: Deployment,
  print: (line: string) => void,
  steps: Step[] = deployment.settings.dashboard ? [...STEPS, dashboardStep] : STEPS,
): Promise<void> {
  const width = Math.max(...steps.map(({ name }) => name.length)) + 2;
  for (const [index, { name, plan }] of steps.entries()) {
    try {
      const { says, more = [], apply } = await plan(deployment);
      print(`  ${name.padEnd(width)}${says}`);
      for (const line of more) print(`  ${"".padEnd(width)}  ${line}`);
      if (apply && !deployment.settings.dryRun) print(`  ${"".padEnd(width)}${await apply()}`);
    } catch (error) {
      if (!(error instanceof DeployError)) throw error;
      const names = steps.map((step) => step.name);
      const done = names.slice(0, index).join(", ") || "nothing";
      const { project, dryRun, dashboard } = deployment.settings;
      const state = ` Done: ${done}. Not done: ${names.slice(index).join(", ")}. Continue with: npm run deploy -- --project ${project}${dashboard ? " --dashboard" : ""}`;
      throw new DeployError(`${name}: ${error.message}${dryRun ? "" : state}`);
    }
  }
}
