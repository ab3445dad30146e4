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
  refuseLinks,
  REMOVAL,
} from "./app.ts";
import type { Changes } from "./apply-changes.ts";
import { parseConfig, removeFromConfig } from "./config-toml.ts";
import { nextVersions } from "./migration-versions.ts";
import { InstallError, migrationName, readText, type Source } from "./source.ts";

type RemoveOptions = {
  force: boolean;
  now: Date;
  /** Objects of the app that may go with ours, as the migration names them. */
  drop: string[];
};

/**
 * What `remove` does: the code and the entries of config.toml go, a migration that drops everything comes. The copied
 * migrations stay, because `supabase db push` refuses a database whose history the folder lacks.
 */
export async function planRemove(source: Source, app: App, { force, now, drop }: RemoveOptions): Promise<Changes> {
  const removeSql = removalSql(source, drop);
  if (app.record === undefined) {
    const last = app.removed.at(-1) ?? "";
    if (app.copies.size > 0 || migrationName(last) !== REMOVAL || drop.length === 0) {
      throw new InstallError(`Keyframe is not installed in ${app.folder}.`);
    }
    // The removal was refused by a database, and so is not applied there.
    return { write: new Map([[`${MIGRATIONS}/${last}`, removeSql]]), remove: [] };
  }
  const copied = copiedPaths(app);
  await refuseLinks(app.folder, copied);
  const edited = force ? [] : await editedFiles(app);
  if (edited.length > 0) {
    throw new InstallError(`Edited since they were copied: ${edited.join(", ")}. --force removes these files too.`);
  }
  // Deno leaves them beside the deno.json of a function that it checked.
  const locks = copied.flatMap((path) => (path.endsWith("/deno.json") ? [path.replace(/json$/, "lock")] : []));
  const removal = `${MIGRATIONS}/${nextVersions(app, now).next().value}_${REMOVAL}.sql`;
  const config = removeFromConfig(app.config, source.schemas);
  const left = parseConfig(config);
  const names = Object.keys(source.functions).map((name) => (name === "api" ? app.record?.functionName : name) ?? name);
  const ours = [
    ...names.filter((name) => name in (left.functions ?? {})).map((name) => `[functions.${name}]`),
    ...source.schemas.filter((name) => left.api?.schemas?.includes(name)),
  ];
  if (ours.length > 0) {
    throw new InstallError(
      `Nothing was changed, because ${CONFIG} still names ${ours.join(", ")}, in a form that cannot be changed safely: take these out, and run the command again.`,
    );
  }
  const isRestored =
    existsSync(join(app.folder, BACKUP)) && (await readText(app.folder, BACKUP)) === config.replaceAll("\r\n", "\n");
  // An interrupted `remove` has written the migration already, and an interrupted first `add` may have copied none.
  const hasCopies = app.copies.size > 0 || (app.removed.length === 0 && migrationsBefore(app).length > 0);
  return {
    write: new Map([...(hasCopies ? [[removal, removeSql] as const] : []), [CONFIG, config]]),
    remove: [...copied, ...locks, ...(isRestored ? [BACKUP] : []), RECORD],
  };
}

/** The migration, with the objects of the app that may go. */
export const removalSql = ({ removeSql }: Pick<Source, "removeSql">, drop: string[]): string =>
  removeSql.replace("'{}'", () => `array[${drop.map(quote).join(", ")}]::text[]`);

const quote = (name: string) => `'${name.replaceAll("'", "''")}'`;

/** Removes the migrations too, once the removal is applied to every database of the app. */
export function planForget(app: App): Changes & { versions: string[] } {
  if (app.record !== undefined || app.copies.size > 0) {
    throw new InstallError(
      "Keyframe is still installed: run `remove --yes`, push its migration to every database, then this.",
    );
  }
  if (app.removed.length === 0) throw new InstallError(`${app.folder} has no migrations of Keyframe.`);
  return {
    write: new Map(),
    remove: app.removed.map((file) => `${MIGRATIONS}/${file}`),
    versions: app.removed.map((file) => file.slice(0, file.indexOf("_"))),
  };
}
