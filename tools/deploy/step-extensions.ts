import { z } from "zod";
import { readMigrations } from "./read-migrations.ts";
import { scheduledJobs } from "./scheduled-jobs.ts";
import type { Step } from "./step.ts";

/** What the migrations create, and by which schema each shows. They may have been switched off since in the dashboard. */
const EXTENSIONS = [
  { name: "pg_net", schema: "net", statement: "create extension pg_net;" },
  { name: "pg_cron", schema: "cron", statement: "create extension pg_cron with schema pg_catalog;" },
  { name: "supabase_vault", schema: "vault", statement: "create extension supabase_vault cascade;" },
];

/** pg_net, pg_cron and the Vault are there, and so is every job: without them nothing wakes the functions. */
export const extensionsStep: Step = {
  name: "Extensions, jobs",
  plan: async ({ cli, found, settings }) => {
    const migrations = await readMigrations();
    const jobs = scheduledJobs(migrations.map(({ text }) => text));
    const { schemas = [], jobs: active = [] } = found.database ?? {};
    const missing = [
      ...EXTENSIONS.filter(({ schema }) => !schemas.includes(schema)),
      ...jobs.filter(({ name }) => !active.includes(name)),
    ];
    if (missing.length === 0) {
      return { says: `${EXTENSIONS.map(({ name }) => name).join(", ")} and ${jobs.length} jobs are there` };
    }
    return {
      says: `to create${settings.dryRun ? ", where no migration does" : ""}: ${missing.map(({ name }) => name).join(", ")}`,
      apply: async () => {
        const sql = missing.map(({ statement }) => statement).join("\n");
        await cli.query("creating extensions and jobs", sql, z.unknown(), "write");
        return "created";
      },
    };
  },
};
