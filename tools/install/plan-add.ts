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
  nextVersions,
  RECORD,
  refuseObstacles,
  SHARED,
} from "./app.ts";
import { sha256Hex } from "../digests.ts";
import type { Changes } from "./apply-changes.ts";
import { addToConfig, parseConfig, removeFromConfig } from "./config-toml.ts";
import { InstallError, readText, type Source } from "./source.ts";

/** `mcp`: whether the function for agents is copied; undefined: as before. */
type AddOptions = { functionName: string | undefined; mcp: boolean | undefined; force: boolean; now: Date };

const MCP = "keyframe-mcp";
const isOfMcp = (path: string) => path.startsWith(`supabase/functions/${MCP}/`);

/** The changes of `add`. Throws an InstallError that lists every taken name before anything is written. */
export async function planAdd(all: Source, app: App, { functionName, mcp, force, now }: AddOptions): Promise<Changes> {
  const hasMcp = mcp ?? (app.record === undefined || copiedPaths(app).some(isOfMcp));
  const source = hasMcp ? all : withoutMcp(all);
  const apiName = functionName ?? app.record?.functionName ?? "api";
  const named = (name: string) => (name === "api" ? apiName : name);
  const files = new Map([...source.code].map(([path, text]) => [pathInApp(path, apiName), textInApp(path, text)]));
  const functions = Object.fromEntries(
    Object.entries(source.functions).map(([name, settings]) => [named(name), rename(settings, name, named(name))]),
  );

  const copied = copiedPaths(app);
  const obsolete = copied.filter((path) => !files.has(path));
  await refuseObstacles(app.folder, [...files.keys(), ...obsolete, RECORD, BACKUP]);
  const taken = takenNames(app, source, Object.keys(functions));
  if (taken.length > 0)
    throw new InstallError(`Nothing was written, because these names are taken.\n- ${taken.join("\n- ")}`);
  const edited = force ? [] : await editedFiles(app, new Set([...copied, ...files.keys()]));
  if (edited.length > 0) {
    throw new InstallError(
      `Edited since they were copied: ${edited.join(", ")}. Keep your changes elsewhere; --force replaces these files.`,
    );
  }

  const write = new Map<string, string>();
  for (const [path, text] of files) {
    if (!app.files.includes(path) || (await readText(app.folder, path)) !== text) write.set(path, text);
  }
  for (const [path, text] of await newMigrations(source, app, now)) write.set(path, text);
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
      files: Object.fromEntries([...files].map(([path, text]) => [path, [sha256Hex(text)]])),
    },
  };
}

function pathInApp(path: string, apiName: string): string {
  if (path.startsWith("shared/")) return `${SHARED}/${path.slice("shared/".length)}`;
  return path.replace(/^supabase\/functions\/api\//, `supabase/functions/${apiName}/`);
}

const withoutMcp = (source: Source): Source => {
  const { [MCP]: _, ...functions } = source.functions;
  return { ...source, functions, code: new Map([...source.code].filter(([path]) => !isOfMcp(path))) };
};

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

/** The app's objects with our names. Schemas, and buckets that are not in config.toml, are refused by the first migration. */
function takenNames(app: App, { schemas, functions }: Source, names: string[]): string[] {
  const config = parseConfig(removeFromConfig(app.config, schemas));
  const copied = copiedPaths(app);
  const isTaken = (folder: string) => {
    const has = (paths: string[]) => paths.some((path) => path === folder || path.startsWith(`${folder}/`));
    return has(app.files) && !has(copied);
  };
  const taken = isTaken(SHARED) ? [`The folder ${SHARED} exists: move it.`] : [];
  for (const name of names) {
    if (!isTaken(`supabase/functions/${name}`) && !(name in (config.functions ?? {}))) continue;
    const isFixed = name in functions && name !== "api";
    const remedy = isFixed ? "rename yours" : "give Keyframe's another name with --function-name <name>";
    taken.push(`The function ${name} exists: ${remedy}.`);
  }
  for (const name of ["projects", "keyframe-outputs"]) {
    if (!(name in (config.storage?.buckets ?? {}))) continue;
    taken.push(
      `The bucket ${name} is the app's (${CONFIG}) and Keyframe's cannot have another name: rename yours, or give Keyframe a project of its own (docs/deploy.md).`,
    );
  }
  return taken;
}

/** The migrations that the app lacks. Throws when a copy is not what it was copied from, or comes from a newer version. */
async function newMigrations({ migrations }: Source, app: App, now: Date): Promise<[path: string, text: string][]> {
  const unknown = [...app.copies].filter(([name]) => !migrations.has(name)).map(([, file]) => file);
  if (unknown.length > 0) {
    throw new InstallError(
      `The app has migrations that this version lacks (${unknown.join(", ")}): use a newer version of Keyframe.`,
    );
  }
  const changed: string[] = [];
  for (const [name, file] of app.copies) {
    if ((await readText(app.folder, MIGRATIONS, file)) !== migrations.get(name)) changed.push(file);
  }
  if (changed.length > 0) {
    throw new InstallError(
      `Migrations differ from this version's: ${changed.join(", ")}. An applied migration never changes: restore the copies. Before 0.1.0, Keyframe's own were edited in place: remove Keyframe, then add it again.`,
    );
  }
  const before = migrationsBefore(app);
  const squashed = await squashedNames(app, before);
  const deleted = before.filter((name) => !app.copies.has(name) && !squashed.includes(name));
  if (deleted.length > 0) {
    const files = deleted.map((name) => `…_keyframe_${name}.sql`).join(", ");
    throw new InstallError(
      `Copied migrations were deleted: ${files}. A database may have them already, so they are not copied again under another version: restore them from your version control.`,
    );
  }
  const versions = nextVersions(app, now);
  return [...migrations]
    .filter(([name]) => !app.copies.has(name) && !squashed.includes(name))
    .map(([name, text]) => [`${MIGRATIONS}/${versions.next().value}_keyframe_${name}.sql`, text]);
}

/** The copies before the first one left, if a migration of the app replaces them, as `supabase migration squash` does. */
async function squashedNames({ folder, own, copies }: App, before: string[]): Promise<string[]> {
  const left = before.findIndex((name) => copies.has(name));
  const [firstLeft] = copies.values();
  for (const file of own) {
    if (firstLeft !== undefined && file > firstLeft) break;
    const text = await readText(folder, MIGRATIONS, file);
    if (/create schema (if not exists )?"?keyframe_private\b/i.test(text)) {
      return left < 0 ? before : before.slice(0, left);
    }
  }
  return [];
}
