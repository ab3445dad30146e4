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
  REMOVAL,
} from "./app.ts";
import type { Changes } from "./apply-changes.ts";
import { parseConfig, removeFromConfig } from "./config-toml.ts";
import { InstallError, migrationName, readText, type Source } from "./source.ts";

type RemoveOptions = {
  force: boolean;
  now: Date;
  /** Objects of the app that may go with ours, as the migration names them. */
  drop: string[];
};

/**
 * The changes of `remove`: it deletes the code and the entries of config.toml, and adds a migration that drops everything. The copied
 * migrations stay, because `supabase db push` refuses a database whose history the folder lacks.
 */
export async function planRemove(source: Source, app: App, { force, now, drop }: RemoveOptions): Promise<Changes> {
  const { folder, record } = app;
  const removeSql = removalSql(source, drop);
  if (record === undefined) return await planRepeatedRemove(app, drop.length === 0 ? undefined : removeSql, now);
  const copied = copiedPaths(app);
  await refuseObstacles(folder, [...copied, BACKUP]);
  const edited = force ? [] : await editedFiles(app, copied);
  if (edited.length > 0) {
    throw new InstallError(`Edited since they were copied: ${edited.join(", ")}. --force removes these files too.`);
  }
  const config = removeFromConfig(app.config, source.schemas);
  const { functions = {}, api } = parseConfig(config);
  const names = Object.keys(source.functions).map((name) => (name === "api" ? record.functionName : name));
  const left = [
    ...names.filter((name) => name in functions).map((name) => `[functions.${name}]`),
    ...source.schemas.filter((name) => api?.schemas?.includes(name)),
  ];
  if (left.length > 0) {
    throw new InstallError(
      `Nothing was changed, because ${CONFIG} still names ${left.join(", ")}, in a form that cannot be changed safely: remove these, then run the command again.`,
    );
  }
  // Deno may have left lock files beside the deno.json of a function that it checked.
  const locks = copied
    .filter((path) => path.endsWith("/deno.json"))
    .map((path) => path.replace(/json$/, "lock"))
    .filter((path) => existsSync(join(folder, path)));
  const isRestored =
    existsSync(join(folder, BACKUP)) && (await readText(folder, BACKUP)) === config.replaceAll("\r\n", "\n");
  // An interrupted `remove` has written the migration already, and an interrupted first `add` may have copied none.
  const hasCopies = app.copies.size > 0 || migrationsBefore(app).length > 0;
  const removal = `${MIGRATIONS}/${nextVersions(app, now).next().value}_${REMOVAL}.sql`;
  return {
    write: new Map([...(hasCopies ? [[removal, removeSql] as const] : []), [CONFIG, config]]),
    remove: [...copied, ...locks, ...(isRestored ? [BACKUP] : []), RECORD],
  };
}

/** Moves a removal that a database has refused after the app's newer migrations, with `sql` if given. */
async function planRepeatedRemove(app: App, sql: string | undefined, now: Date): Promise<Changes> {
  const { folder, copies, removed, own } = app;
  const last = removed.at(-1);
  if (copies.size > 0 || last === undefined) throw new InstallError(`Keyframe is not installed in ${folder}.`);
  // An interruption may have left two removals.
  const removals = removed.slice(removed.findLastIndex((file) => migrationName(file) !== REMOVAL) + 1);
  const target = own.length > 0 ? `${nextVersions(app, now).next().value}_${REMOVAL}.sql` : last;
  const obsolete = removals.filter((file) => file !== target).map((file) => `${MIGRATIONS}/${file}`);
  if (sql === undefined && target === last && obsolete.length === 0) {
    throw new InstallError(
      `Keyframe is already removed: ${MIGRATIONS}/${last} drops it from each database. Next: supabase db push --remote`,
    );
  }
  return {
    write: new Map([[`${MIGRATIONS}/${target}`, sql ?? (await readText(folder, MIGRATIONS, last))]]),
    remove: obsolete,
  };
}

/** The migration, with the objects of the app that may go. */
export const removalSql = ({ removeSql }: Pick<Source, "removeSql">, drop: string[]): string =>
  removeSql.replace("'{}'", () => `array[${drop.map(quote).join(", ")}]::text[]`);

const quote = (name: string) => `'${name.replaceAll("'", "''")}'`;

/** Removes the migrations too, once the removal is applied to every database of the app. */
export function planForget({ folder, record, copies, removed }: App): Changes & { versions: string[] } {
  if (record !== undefined || copies.size > 0) {
    throw new InstallError(
      "Keyframe is still installed: run `remove --yes`, push its migration to every database, then this.",
    );
  }
  if (removed.length === 0) throw new InstallError(`${folder} has no migrations of Keyframe.`);
  return {
    write: new Map(),
    remove: removed.map((file) => `${MIGRATIONS}/${file}`),
    versions: removed.map((file) => file.slice(0, file.indexOf("_"))),
  };
}
