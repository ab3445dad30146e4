// Installs Keyframe into an app's own Supabase project. Runs on Deno in a checkout, and on Node from the package.
import process from "node:process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { oneLine, parseOptions, runMain } from "../command-line/run-main.ts";
import { BUDGET_HELP, BUDGET_OPTIONS, type Budgets, budgetSql, readBudgets } from "./budgets.ts";
import { type App, readApp } from "./install/app.ts";
import { applyChanges, type Changes } from "./install/apply-changes.ts";
import { planAdd } from "./install/plan-add.ts";
import { planForget, planRemove } from "./install/plan-remove.ts";
import { InstallError, readSource, type Source } from "./install/source.ts";

const HELP = `add [folder]      copies Keyframe's migrations and functions into the app's supabase folder; run it again to upgrade
remove [folder]   removes them, and writes a migration that drops Keyframe from the database; run it again if a database
                  refused that migration: it moves behind the app's newer ones

  folder                 the folder that has supabase/config.toml (default: this one)
  --dry-run              print what would be written and removed, and change nothing
  --function-name NAME   add: the name of the API's function, if the app already has a function named api
  --without-mcp          add: leave out keyframe-mcp, which lets agents use the API (docs/agents.md); --with-mcp adds it later
  ${BUDGET_HELP}
  --force                replace or remove copied files that were edited
  --drop OBJECT          remove: also drop this object of the app, named as in the migration's error; can be repeated
  --yes                  remove: do it; the migration deletes all of Keyframe's data
  --version              print the version
  --migrations           remove, once its migration is applied everywhere: also delete the migration files

See docs/install.md.`;

const WHAT_GOES = `With its migration, the database loses everything of Keyframe: projects, predictions and their history, webhook endpoints with
their secrets, events and deliveries, models and settings. The buckets projects and keyframe-outputs go if they are empty. The films'
files stay in them until you empty and delete them in Studio (Storage). The schemas keyframe and keyframe_worker stay, empty: while the
Data API exposes a schema that does not exist, it answers every request of your app with 503 (PGRST002).`;

const nextAfterRemove = (api: string) => `Next, in this order (docs/install.md):
  npx supabase db push --remote=<ref>
  npx supabase functions delete <name> --remote=<ref>
for each of ${api}, keyframe-generate, keyframe-deliver, keyframe-replicate-webhook and keyframe-mcp.
Then take keyframe and keyframe_worker out of the exposed schemas (dashboard: Project settings, Data API). Once the Data API answers
PGRST106 for each of them, they can go:
  drop schema keyframe, keyframe_worker;`;

const NEXT_AFTER_ADD = `Next, with Supabase CLI 3, in this order (docs/going-live.md has each command):
  npx supabase db push --remote=<ref>
  the address and the secret for kicks into the Vault, the functions' secrets with npx supabase secrets set
  npx supabase functions deploy --remote=<ref>
Then add keyframe and keyframe_worker to the exposed schemas (dashboard: Project settings, Data API).
On your machine, before the next supabase start: supabase db start && supabase migration up
Without the migration that start fails: config.toml exposes schemas that the database does not have yet.`;

async function main(): Promise<number> {
  const { values: given, positionals } = parseOptions({
    args: process.argv.slice(2),
    allowPositionals: true,
    options: {
      "dry-run": { type: "boolean", default: false },
      "function-name": { type: "string" },
      "without-mcp": { type: "boolean", default: false },
      "with-mcp": { type: "boolean", default: false },
      ...BUDGET_OPTIONS,
      force: { type: "boolean", default: false },
      drop: { type: "string", multiple: true, default: [] },
      yes: { type: "boolean", default: false },
      migrations: { type: "boolean", default: false },
      version: { type: "boolean", default: false },
    },
  });
  const root = fileURLToPath(new URL("../", import.meta.url));
  const source = await readSource(root);
  if (given.version) {
    console.log(source.version);
    return 0;
  }
  const [command, folder = ".", ...more] = positionals;
  if (command === undefined) {
    console.log(HELP);
    return 1;
  }
  if ((command !== "add" && command !== "remove") || more.length > 0) {
    throw new InstallError("The commands are add [folder] and remove [folder]. --help lists the options.");
  }
  const functionName = given["function-name"];
  if (functionName !== undefined && !/^[a-z][a-z0-9_-]{0,47}$/.test(functionName)) {
    throw new InstallError("--function-name must be lowercase letters, digits, - and _, and start with a letter.");
  }
  if (functionName !== undefined && functionName !== "api" && functionName in source.functions) {
    throw new InstallError(`--function-name: ${functionName} is another function of Keyframe.`);
  }
  if (given["with-mcp"] && given["without-mcp"]) throw new InstallError("Give --with-mcp or --without-mcp, not both.");
  if (resolve(folder) === resolve(root)) throw new InstallError("Name the app's folder: npm run add -- <folder>");
  const app = await readApp(resolve(folder), source);
  const mcp = given["without-mcp"] ? false : given["with-mcp"] || undefined;
  const options = {
    ...given,
    functionName,
    mcp,
    budgets: readBudgets(given),
    isDryRun: given["dry-run"],
    now: new Date(),
  };
  if (command === "add") await add(source, app, options);
  else if (given.migrations) await forget(app, options);
  else await remove(source, app, options);
  return 0;
}

type Options = {
  budgets: Budgets;
  functionName: string | undefined;
  mcp: boolean | undefined;
  force: boolean;
  drop: string[];
  yes: boolean;
  isDryRun: boolean;
  now: Date;
};

async function add(source: Source, app: App, options: Options): Promise<void> {
  const changes = await planAdd(source, app, options);
  const from = app.record === undefined ? "" : `, from ${app.record.version}`;
  console.log(`Keyframe ${source.version}${from}, in ${app.folder}`);
  if (changes.write.size + changes.remove.length === 0) console.log("Everything is already there.");
  if (app.record === undefined && app.removed.length > 0) {
    console.log(
      `${app.removed.at(-1)} comes first, and deletes all of Keyframe's data in each database that does not have it yet. To keep the data, restore the folder from your version control.`,
    );
  }
  await carryOut(app, changes, options.isDryRun);
  if (!options.isDryRun) console.log(`${NEXT_AFTER_ADD}\n${sayBudgets(options.budgets)}`);
}

/** The database is reached only by `supabase db push`, so the statement is printed and not run. */
function sayBudgets(budgets: Budgets): string {
  const sql = budgetSql(budgets);
  return sql === ""
    ? "There is no budget yet: users can spend without a limit. --user-budget 10 --service-budget 500 prints the SQL that sets one (docs/costs.md)."
    : `Then set the budgets, in the SQL editor:\n${sql}`;
}

async function forget(app: App, { isDryRun }: Options): Promise<void> {
  const { versions, ...changes } = planForget(app);
  await carryOut(app, changes, isDryRun);
  if (isDryRun) return; // repaired before the files are deleted, the next push would apply them again
  console.log(`Remove them from each database's history:
  supabase migration repair --status reverted ${versions.join(" ")} --remote=<ref>`);
}

async function remove(source: Source, app: App, options: Options): Promise<void> {
  const { isDryRun, yes } = options;
  const changes = await planRemove(source, app, options);
  console.log(WHAT_GOES);
  if (app.record === undefined) console.log("There is already a removal. Continue only if no database has it.");
  await carryOut(app, changes, isDryRun || !yes);
  if (!isDryRun && !yes) throw new InstallError("Nothing was changed: run the command again with --yes.");
  if (!isDryRun) console.log(nextAfterRemove(app.record?.functionName ?? "api"));
}

async function carryOut(app: App, changes: Changes, isDryRun: boolean): Promise<void> {
  for (const path of changes.write.keys()) console.log(`  ${isDryRun ? "would write" : "write"}   ${path}`);
  for (const path of changes.remove) console.log(`  ${isDryRun ? "would remove" : "remove"}  ${path}`);
  if (!isDryRun) await applyChanges(app, changes);
}

// A refusal may have several lines.
runMain(HELP, main, { describe: (error) => (error instanceof InstallError ? error.message : oneLine(error)) });
