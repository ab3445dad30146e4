import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { z } from "zod";
import { supabaseCli } from "../../../local/stack/supabase-cli.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { migrationUrlOf } from "../../support/database/migration-url.ts";

const report = z.object({
  results: z.array(
    z.object({
      name: z.string(),
      level: z.string(),
      detail: z.string(),
      metadata: z.object({ schema: z.string().optional() }),
    }),
  ),
});
type Finding = z.infer<typeof report>["results"][number];

/** What the advisors may say, each with its reason. */
const EXCEPTIONS: Record<string, (finding: Finding) => boolean> = {
  // The database is fresh: nothing has been looked up yet. plans.test.ts shows the queue's indexes in use.
  unused_index: () => true,
  // One row for each step: an index would never be used.
  unindexed_foreign_keys: ({ detail }) => detail.includes("`keyframe.step_defaults`"),
  // The Data API does not expose keyframe_private, and no role has a grant there: without a policy nobody gets in, as meant.
  rls_enabled_no_policy: ({ metadata }) => metadata.schema === "keyframe_private",
};

const db = useDatabase();

test("supabase db advisors at level info → finds the careless test table, and else only the named exceptions", async () => {
  // To see that the advisors look at all.
  await db.sql`create table public.careless (id uuid primary key, project_id uuid references keyframe.projects)`;
  await db.sql`grant select on public.careless to anon`;
  const options = ["--level", "info", "--fail-on", "none", "--output-format", "json"];
  const args = ["db", "advisors", `--remote=${migrationUrlOf(db.url)}`, ...options];
  const { code, stdout, stderr } = await supabaseCli(args, join(inject("stack").dataDir, "cli-home"));
  if (code !== 0) throw new Error(`supabase db advisors failed: ${stderr}`);
  const findings = report.parse(JSON.parse(stdout)).results.filter((finding) => !EXCEPTIONS[finding.name]?.(finding));
  const ofCareless = findings.filter(({ detail }) => detail.includes("careless"));
  expect(ofCareless.map(({ name }) => name).toSorted()).toEqual(["rls_disabled_in_public", "unindexed_foreign_keys"]);
  expect(findings.filter((finding) => !ofCareless.includes(finding))).toEqual([]);
});

// The database above has stand-ins, which the advisors do not take for extensions.
test("our statements create each extension → in a schema that they name, or its own: the advisors warn of any in public", async () => {
  const files = ["supabase/schemas/00_foundation/10_schemas.sql", "tools/deploy/database-stages.ts"];
  for (const file of files) {
    const created = (await Deno.readTextFile(file)).match(/create extension \w+( with schema \w+)?/g);
    expect([file, created]).toEqual([
      file,
      [
        "create extension pg_net with schema extensions",
        "create extension pg_cron with schema pg_catalog",
        "create extension supabase_vault", // only ever in vault
      ],
    ]);
  }
});

// A scan that is off makes a plan so dear that JIT would compile it at each call.
test("a function in our schemas that turns a kind of scan or join off → turns JIT off too", async () => {
  const functions = await db.sql<{ name: string; jit: boolean }[]>`
    select p.oid::regprocedure as name, 'jit=off' = any (p.proconfig) as jit from pg_proc p
    where p.pronamespace = any (array['keyframe'::regnamespace, 'keyframe_worker'::regnamespace, 'keyframe_private'::regnamespace])
      and exists (select from unnest(p.proconfig) setting where setting like 'enable%')`;
  expect(functions.length).toBeGreaterThan(3);
  expect(functions.filter(({ jit }) => !jit)).toEqual([]);
});
