import { budgetsStage } from "./budgets-stage.ts";
import { databaseStage, projectStage, replicateStage } from "./check-stages.ts";
import { configStage } from "./config-stage.ts";
import { extensionsStage, migrationsStage, vaultStage } from "./database-stages.ts";
import { functionsStage, secretsStage } from "./function-stages.ts";
import { healthStage } from "./health-stage.ts";

/**
 * Checks come first, the database before the functions that need it, health last. The first migration refuses a database that has a
 * schema or a bucket of our names, so no schema is exposed before it.
 */
export const STAGES = [
  projectStage,
  replicateStage,
  databaseStage,
  migrationsStage,
  configStage,
  extensionsStage,
  vaultStage,
  budgetsStage,
  secretsStage,
  functionsStage,
  healthStage,
];
