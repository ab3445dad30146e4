import { DeployError } from "./reporting.ts";
import type { Deployment, Stage } from "./stage.ts";
import { budgetsStage } from "./budgets-stage.ts";
import { configStage } from "./config-stage.ts";
import { databaseStage, projectStage, replicateStage } from "./check-stages.ts";
import { extensionsStage, migrationsStage, vaultStage } from "./database-stages.ts";
import { functionsStage, secretsStage } from "./function-stages.ts";
import { healthStage } from "./health-stage.ts";

/** Checks come first, the database before the functions that need it, health last. */
const STAGES = [
  projectStage,
  replicateStage,
  databaseStage,
  configStage,
  migrationsStage,
  extensionsStage,
  vaultStage,
  budgetsStage,
  secretsStage,
  functionsStage,
  healthStage,
];

/** Runs all stages; a dry run only prints what each would change. Throws at the first failure. */
export async function runDeployment(
  deployment: Deployment,
  print: (line: string) => void,
  stages: Stage[] = STAGES,
): Promise<void> {
  const width = Math.max(...stages.map(({ name }) => name.length)) + 2;
  for (const [index, { name, plan }] of stages.entries()) {
    try {
      const { says, more = [], apply } = await plan(deployment);
      print(`  ${name.padEnd(width)}${says}`);
      for (const line of more) print(`  ${"".padEnd(width)}  ${line}`);
      if (apply && !deployment.settings.dryRun) print(`  ${"".padEnd(width)}${await apply()}`);
    } catch (error) {
      const { stop } = deployment;
      if (!(error instanceof DeployError) && !stop.aborted) throw error;
      const why = error instanceof DeployError && !stop.aborted ? error.message : "It was stopped.";
      const names = stages.map((stage) => stage.name);
      const done = names.slice(0, index).join(", ") || "nothing";
      const { project, dryRun } = deployment.settings;
      const state = ` Done: ${done}. Not done: ${names.slice(index).join(", ")}. Continue with: npm run deploy -- --project ${project}`;
      throw new DeployError(`${name}: ${why}${dryRun ? "" : state}`);
    }
  }
}
