import {
  type App,
  BACKUP,
  type Changes,
  CONFIG,
  editedFiles,
  MIGRATIONS,
  nextVersions,
  RECORD,
  REMOVAL,
} from "./app.ts";
import { removeFromConfig } from "./config-toml.ts";
import { InstallError, type Source } from "./source.ts";

/**
 * What `remove` does: the code and the entries of config.toml go, a migration that drops everything comes. The copied
 * migrations stay, because `supabase db push` refuses a database whose history the folder lacks.
 */
export async function planRemove(
  source: Source,
  app: App,
  { force, now }: { force: boolean; now: Date },
): Promise<Changes> {
  if (app.record === undefined) throw new InstallError(`Keyframe is not installed in ${app.folder}.`);
  const edited = force ? [] : await editedFiles(app);
  if (edited.length > 0) {
    throw new InstallError(`Edited since they were copied: ${edited.join(", ")}. --force removes these files too.`);
  }
  const paths = Object.keys(app.record.files);
  // Deno leaves them beside the deno.json of a function that it checked.
  const locks = paths.flatMap((path) => (path.endsWith("/deno.json") ? [path.replace(/json$/, "lock")] : []));
  const removal = `${MIGRATIONS}/${nextVersions(app, now).next().value}_${REMOVAL}.sql`;
  return {
    write: new Map([
      ...(app.copies.size > 0 ? [[removal, source.removeSql] as const] : []),
      [CONFIG, removeFromConfig(app.config, source.schemas)],
    ]),
    remove: [...paths, ...locks, BACKUP, RECORD],
  };
}

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
