import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { runProgram } from "./run-command.ts";

export type Checkout = Awaited<ReturnType<typeof copyOf>>;

/** This checkout as the release that it will be, and the version after it, each made by `npm run schema` as CONTRIBUTING.md says. */
export async function makeVersions(parent: string): Promise<{ old: Checkout; next: Checkout }> {
  const old = await copyAtRelease(parent);
  const { output } = await old.schema(); // it asks for the line
  await noteRelease(old, /Migration: \S+ SHA-256 [0-9a-f]{64}/.exec(output)?.[0] ?? "");
  await mustSucceed(old);
  return { old, next: await makeNextVersion(old, parent) };
}

/** This checkout at the moment of its release: CHANGELOG.md has the heading of its version, and not yet the line below it. */
async function copyAtRelease(parent: string): Promise<Checkout> {
  const { version } = JSON.parse(await readFile(join(PROJECT_ROOT, "package.json"), "utf8")) as { version: string };
  const copy = await copyOf(PROJECT_ROOT, parent, version);
  const changelog = join(copy.folder, "CHANGELOG.md");
  const text = (await readFile(changelog, "utf8")).replace(
    new RegExp(`^Migration: \\d+_${copy.migration}\\.sql .*\\n`, "m"),
    "",
  );
  const isHeaded = text.includes(`\n## [${version}]`);
  await writeFile(changelog, isHeaded ? text : text.replace("\n## ", `\n## [${version}] - 2026-12-01\n\n## `));
  return copy;
}

/** Writes a line below the heading of the version. */
async function noteRelease({ folder, version }: Checkout, line: string): Promise<void> {
  const changelog = join(folder, "CHANGELOG.md");
  const text = await readFile(changelog, "utf8");
  const heading = new RegExp(`^## \\[${version.replaceAll(".", "\\.")}\\].*$`, "m");
  await writeFile(
    changelog,
    text.replace(heading, (found) => `${found}\n\n${line}`),
  );
}

/**
 * The version after a released one, as CONTRIBUTING.md says: `projects` has a column more, and a function of api and one of a worker
 * take a parameter more, which the code of this version sends.
 */
async function makeNextVersion(released: Checkout, parent: string): Promise<Checkout> {
  const version = released.version.replace(/\d+$/, (patch) => String(Number(patch) + 1));
  const next = await copyOf(released.folder, parent, version);
  const { edit, folder } = next;
  await edit("package.json", `"version": "${released.version}"`, `"version": "${version}"`);
  await mustSucceed(next);

  const schemas = "supabase/schemas";
  await edit(
    `${schemas}/10_projects/10_projects.sql`,
    "  element_ids uuid[],\n",
    "  element_ids uuid[],\n  director text,\n",
  );
  const comment = "comment on column keyframe.projects.director is 'Who directs it.';\n";
  await edit(
    `${schemas}/10_projects/10_projects.sql`,
    "comment on table keyframe.projects",
    `${comment}comment on table keyframe.projects`,
  );
  const projectApi = `${schemas}/10_projects/20_project_api.sql`;
  await edit(
    projectApi,
    "plan jsonb default '{}')\nreturns",
    "plan jsonb default '{}', director text default null)\nreturns",
  );
  await edit(projectApi, "element_ids, plan)\n    values", "element_ids, plan, director)\n    values");
  await edit(projectApi, "create_project.plan)\n", "create_project.plan, create_project.director)\n");
  const tasks = `${schemas}/40_work/10_tasks.sql`;
  await edit(
    tasks,
    "poll_seconds double precision default null)\nreturns jsonb",
    "poll_seconds double precision default null, calm boolean default false)\nreturns jsonb",
  );

  const changed = [
    await functionIn(join(folder, projectApi), "keyframe.create_project"),
    await functionIn(join(folder, tasks), "keyframe_worker.claim_tasks"),
  ];
  // A parameter more is another function to Postgres: beside the old one, calls by name would find two.
  const byHand = ["alter table keyframe.projects add column director text;\n", comment, ...changed].join("");
  await edit(await migrationOf(next), "\n\n", `\n\n${byHand}\n`);
  await mustSucceed(next);

  const functions = "supabase/functions";
  await edit(
    "shared/api/routes/projects.ts",
    "...toRow(body), ...idempotency",
    '...toRow(body), director: "Ada", ...idempotency',
  );
  await edit(
    `${functions}/keyframe-generate/tasks/claim.ts`,
    "poll_seconds: pollSeconds,\n",
    "poll_seconds: pollSeconds,\n      calm: true,\n",
  );
  return next;
}

/** The path of the migration of a checkout's version. */
async function migrationOf({ folder, migration }: Checkout): Promise<string> {
  const files = await Array.fromAsync(Deno.readDir(join(folder, "supabase/migrations")));
  const file = files.find(({ name }) => name.endsWith(`_${migration}.sql`));
  if (file === undefined) throw new Error(`${folder} has no migration ${migration}.`);
  return `supabase/migrations/${file.name}`;
}

/** A checkout of a version, in a folder of its own. */
async function copyOf(root: string, parent: string, version: string) {
  const folder = join(parent, `keyframe-${version}`);
  await mkdir(folder);
  for (const path of ["supabase", "shared", "command-line", "tools", "local", "package.json", "CHANGELOG.md"]) {
    await cp(join(root, path), join(folder, path), { recursive: true });
  }
  await symlink(join(PROJECT_ROOT, "node_modules"), join(folder, "node_modules"));
  return {
    folder,
    version,
    /** Its migration's name without its time. */
    migration: `keyframe_${version.replaceAll(".", "_")}`,
    /** Replaces a text that the file must have. */
    edit: async (path: string, from: string, to: string) => {
      const file = join(folder, path);
      const text = await readFile(file, "utf8");
      if (!text.includes(from)) throw new Error(`${path} has no ${JSON.stringify(from)}.`);
      await writeFile(
        file,
        text.replace(from, () => to),
      );
    },
    /** `npm run schema`, without npm. */
    schema: async () => {
      const script = join(folder, "tools/schema.ts");
      const { code, output } = await runProgram(Deno.execPath(), ["run", "-A", script], {}, folder).ended;
      return { code, output };
    },
  };
}

async function mustSucceed(checkout: Checkout): Promise<void> {
  const { code, output } = await checkout.schema();
  if (code !== 0) throw new Error(output);
}

/** The statements that replace a function by what a file of the schemas has, with its comment. */
async function functionIn(file: string, name: string): Promise<string> {
  const start = `create function ${name}(`;
  const text = await readFile(file, "utf8");
  const from = text.indexOf(start);
  const end = text.indexOf("\n", text.indexOf(`comment on function ${name} is`, from));
  if (from < 0 || end < from) throw new Error(`${file} has no function ${name} with a comment.`);
  return `drop function ${name};\n${text.slice(from, end)}\n`;
}
