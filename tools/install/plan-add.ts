import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type App,
  BACKUP,
  CONFIG,
  copiedPaths,
  editedFiles,
  migrationsBefore,
  MIGRATIONS,
  RECORD,
  refuseObstacles,
  SHARED,
} from "./app.ts";
import { sha256Hex } from "../deploy/migrations.ts";
import { type Changes, UNFINISHED } from "./apply-changes.ts";
import { addToConfig, parseConfig, removeFromConfig } from "./config-toml.ts";
import { nextVersions } from "./migration-versions.ts";
import { InstallError, listFiles, readText, type Source } from "./source.ts";
import { namesInFile } from "./sql-names.ts";

type AddOptions = { functionName: string | undefined; force: boolean; now: Date };

/** What `add` writes and removes. Throws an InstallError that lists every taken name before anything is written. */
export async function planAdd(source: Source, app: App, { functionName, force, now }: AddOptions): Promise<Changes> {
  const apiName = functionName ?? app.record?.functionName ?? "api";
  const named = (name: string) => (name === "api" ? apiName : name);
  const files = new Map([...source.code].map(([path, text]) => [pathInApp(path, apiName), textInApp(path, text)]));
  const functions = Object.fromEntries(
    Object.entries(source.functions).map(([name, settings]) => [named(name), rename(settings, name, named(name))]),
  );

  const obsolete = copiedPaths(app).filter((path) => !files.has(path));
  await refuseObstacles(app.folder, [...files.keys(), ...obsolete, RECORD, BACKUP]);
  const squashed = app.record === undefined ? [] : await squashedInto(app);
  const taken = [
    ...(await takenFunctions(app, Object.keys(functions), files, source)),
    // Once installed, the names are ours: a dump or a pull of the app repeats our SQL.
    ...(app.record === undefined ? await takenNames(app, source) : []),
  ];
  if (taken.length > 0)
    throw new InstallError(`Nothing was written, because names are taken.\n- ${taken.join("\n- ")}`);
  const edited = force ? [] : await editedFiles(app);
  if (edited.length > 0) {
    throw new InstallError(
      `Edited since they were copied: ${edited.join(", ")}. Keep your changes elsewhere; --force replaces these files.`,
    );
  }

  const write = new Map<string, string>();
  for (const [path, text] of files) {
    if (!app.files.includes(path) || (await readText(app.folder, path)) !== text) write.set(path, text);
  }
  for (const [path, text] of await newMigrations(source, app, squashed, now)) write.set(path, text);
  const config = addToConfig(app.config, { ...source, functions });
  if (config !== app.config) {
    if (!existsSync(join(app.folder, BACKUP))) write.set(BACKUP, app.config);
    write.set(CONFIG, config);
  }
  return {
    write,
    remove: obsolete,
    record: {
      version: source.version,
      functionName: apiName,
      migrations: [...source.migrations.keys()],
      files: Object.fromEntries([...files].map(([path, text]) => [path, sha256Hex(text)])),
    },
  };
}

function pathInApp(path: string, apiName: string): string {
  if (path.startsWith("shared/")) return `${SHARED}/${path.slice("shared/".length)}`;
  return path.replace(/^supabase\/functions\/api\//, `supabase/functions/${apiName}/`);
}

/** The functions find the shared code two folders nearer than in the checkout. */
function textInApp(path: string, text: string): string {
  if (path.startsWith("shared/") || !path.endsWith(".ts")) return text;
  return text.replaceAll(/"((?:\.\.\/)*)\.\.\/\.\.\/shared\//g, '"$1_shared/keyframe/');
}

const rename = (settings: Source["functions"][string], from: string, to: string) =>
  Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [
      key,
      typeof value === "string" ? value.replace(`./functions/${from}/`, `./functions/${to}/`) : value,
    ]),
  );

async function takenFunctions(
  app: App,
  names: string[],
  files: Map<string, string>,
  { schemas, functions }: Source,
): Promise<string[]> {
  const { folder, config, files: present } = app;
  const declared = parseConfig(removeFromConfig(config, schemas)).functions ?? {};
  const own = copiedPaths(app);
  const taken: string[] = [];
  for (const place of [...names.map((name) => `supabase/functions/${name}`), SHARED]) {
    const name = place === SHARED ? undefined : place.slice("supabase/functions/".length);
    const isOurs = own.some((path) => path.startsWith(`${place}/`));
    let isTaken = name !== undefined && name in declared;
    for (const path of isOurs ? [] : present.filter((file) => file.startsWith(`${place}/`))) {
      if (path.endsWith(`/${UNFINISHED}`)) continue; // an `add` was killed before it had recorded anything
      isTaken ||= !files.has(path) || files.get(path) !== (await readText(folder, path));
    }
    if (!isTaken) continue;
    if (name === undefined) taken.push(`The folder ${SHARED} exists: move it.`);
    else if (name in functions && name !== "api") taken.push(`The function ${name} exists: rename yours.`);
    else taken.push(`The function ${name} exists: give Keyframe's another name with --function-name <name>.`);
  }
  return taken;
}

/** The app's own migrations that have ours in them, as `supabase migration squash` leaves them. */
async function squashedInto({ folder, own }: App): Promise<string[]> {
  const found: string[] = [];
  for (const file of own) {
    if ((await namesInFile(folder, MIGRATIONS, file)).schemas.has("keyframe_private")) found.push(file);
  }
  return found;
}

/** Schemas and buckets that the app's own SQL or config.toml names. Neither can have another name. */
async function takenNames(app: App, { schemas }: Source): Promise<string[]> {
  // A removal undoes what stands before it.
  const undone = app.migrations.slice(0, app.migrations.indexOf(app.removed.at(-1) ?? "") + 1);
  const ours = new Set([...app.copies.values(), ...undone].map((file) => `${MIGRATIONS}/${file}`));
  const taken: string[] = [];
  const buckets = ["projects", "keyframe-outputs"];
  const say = (what: string, name: string, where: string) =>
    taken.push(
      `The ${what} ${name} is the app's (${where}) and Keyframe's cannot have another name: rename yours, or give Keyframe a project of its own (docs/deploy.md).`,
    );
  // A database's own folder may be here, which only its server can read. A name that is not seen stops the first migration.
  const files = await listFiles(app.folder, "supabase").catch(() => []);
  // The migrations apart, because a list of files follows no link below its folder.
  for (const path of new Set([...files, ...app.migrations.map((file) => `${MIGRATIONS}/${file}`)])) {
    if (!path.endsWith(".sql") || ours.has(path)) continue;
    const created = await namesInFile(app.folder, path);
    for (const name of schemas.concat("keyframe_private")) if (created.schemas.has(name)) say("schema", name, path);
    for (const name of buckets) if (created.buckets.has(name)) say("bucket", name, path);
  }
  const declared = parseConfig(app.config).storage?.buckets ?? {};
  for (const name of buckets) if (name in declared) say("bucket", name, CONFIG);
  return taken;
}

/** The migrations that the app lacks. Throws when a copy is not what it was copied from, or comes from a newer version. */
async function newMigrations(
  { migrations }: Source,
  app: App,
  squashed: string[],
  now: Date,
): Promise<[path: string, text: string][]> {
  const unknown = [...app.copies.keys()].filter((name) => !migrations.has(name));
  if (unknown.length > 0) {
    const files = unknown.map((name) => app.copies.get(name)).join(", ");
    throw new InstallError(
      `The app has migrations that this version lacks (${files}): use a newer version of Keyframe.`,
    );
  }
  const changed: string[] = [];
  for (const [name, file] of app.copies) {
    if ((await readText(app.folder, MIGRATIONS, file)) !== migrations.get(name)) changed.push(file);
  }
  if (changed.length > 0) {
    throw new InstallError(
      `Migrations differ from this version's: ${changed.join(", ")}. An applied migration never changes: restore the copies. Before 0.1.0 Keyframe's own were edited in place: remove it, and add it again.`,
    );
  }
  const copied = migrationsBefore(app);
  const gone = copied.filter((name) => !app.copies.has(name));
  // A squashed migration stands before the copies that are left, and replaces those before them.
  const [firstLeft = ""] = app.copies.values();
  const isSquashed = squashed.some((file) => firstLeft === "" || file < firstLeft);
  const replaced = isSquashed ? copied.findIndex((name) => app.copies.has(name)) : 0;
  const deleted = replaced < 0 ? [] : copied.slice(replaced).filter((name) => gone.includes(name));
  if (deleted.length > 0) {
    const files = deleted.map((name) => `…_keyframe_${name}.sql`).join(", ");
    throw new InstallError(
      `Copied migrations were deleted: ${files}. A database may have them already, so they are not copied again under another time: restore them from your version control.`,
    );
  }
  const versions = nextVersions(app, now);
  return [...migrations]
    .filter(([name]) => !app.copies.has(name) && !gone.includes(name))
    .map(([name, text]) => [`${MIGRATIONS}/${versions.next().value}_keyframe_${name}.sql`, text]);
}
