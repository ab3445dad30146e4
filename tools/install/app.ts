import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { InstallError, listFiles, migrationName, readText, type Source } from "./source.ts";

export const CONFIG = "supabase/config.toml";
export const BACKUP = "supabase/config.toml.before-keyframe";
export const MIGRATIONS = "supabase/migrations";
export const SHARED = "supabase/functions/_shared/keyframe";
export const RECORD = `${SHARED}/installed.json`;

/** The name of the migration that removes Keyframe from the database. */
export const REMOVAL = "keyframe_remove";

/** What an earlier `add` left. */
type InstallRecord = {
  version: string;
  /** The name of the API's function. */
  functionName: string;
  /** Names of the copied migrations, without timestamp and prefix. */
  migrations: string[];
  /** Path → SHA-256 of each copied file. */
  files: Record<string, string>;
};

/** The repository of an app: the folder that has `supabase` in it. */
export type App = {
  folder: string;
  config: string;
  record: InstallRecord | undefined;
  /** The files below supabase/functions. */
  files: string[];
  /** All migrations' files, in order. */
  migrations: string[];
  /** The copied migrations among them, by name. */
  copies: Map<string, string>;
  /** Copies of an earlier installation, and its removal. */
  removed: string[];
};

export async function readApp(folder: string, source: Source): Promise<App> {
  if (!existsSync(join(folder, CONFIG))) {
    throw new InstallError(
      `There is no ${CONFIG} in ${folder}. Name the app's folder, or run \`supabase init\` there.`,
    );
  }
  const record: InstallRecord | undefined = existsSync(join(folder, RECORD))
    ? JSON.parse(await readText(folder, RECORD))
    : undefined;
  const names = new Set([...source.migrations.keys(), ...(record?.migrations ?? [])]);
  const copyName = (file: string) => /^keyframe_(.+)$/.exec(migrationName(file) ?? "")?.[1] ?? "";
  const found = await readdir(join(folder, MIGRATIONS)).catch(() => []);
  const migrations = found.filter((file) => migrationName(file) !== undefined).sort();
  const isRemoval = (file: string) => migrationName(file) === REMOVAL;
  const after = migrations.findLastIndex(isRemoval) + 1;
  const isCopy = (file: string) => names.has(copyName(file));
  return {
    folder,
    config: await readText(folder, CONFIG),
    record,
    files: await listFiles(folder, "supabase/functions"),
    migrations,
    copies: new Map(
      migrations
        .slice(after)
        .filter(isCopy)
        .map((file) => [copyName(file), file]),
    ),
    removed: migrations.slice(0, after).filter((file) => isCopy(file) || isRemoval(file)),
  };
}

export const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Our files that were edited since they were copied. */
export async function editedFiles({ folder, record, files }: App): Promise<string[]> {
  const kept = Object.entries(record?.files ?? {}).filter(([path]) => files.includes(path));
  const compared = await Promise.all(
    kept.map(async ([path, hash]) => (digest(await readText(folder, path)) === hash ? [] : [path])),
  );
  return compared.flat();
}

/** The versions of the next migrations: after now, and after the newest one, because `db push` refuses older ones. */
export function* nextVersions({ migrations }: App, now: Date): Generator<string, never> {
  const newest = Number(migrations.at(-1)?.split("_")[0] ?? 0);
  const start = Number(now.toISOString().replace(/\D/g, "").slice(0, 14));
  for (let at = start > newest ? now : afterVersion(newest); ; at = new Date(at.getTime() + 1000)) {
    yield at.toISOString().replace(/\D/g, "").slice(0, 14);
  }
}

function afterVersion(version: number): Date {
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(String(version))?.slice(1).map(Number);
  const [year = 0, month = 0, day, hour, minute, second = 0] = parts ?? [];
  const time = Date.UTC(year, month - 1, day, hour, minute, second + 1);
  if (parts === undefined || Number.isNaN(time)) {
    throw new InstallError(`The newest migration's version, ${version}, is no time: nothing can be put after it.`);
  }
  return new Date(time);
}

/** What a command does to the app's folder. */
export type Changes = { write: Map<string, string>; remove: string[]; record?: InstallRecord | undefined };

/** Writes what differs, then the record. After an interruption the same command continues. */
export async function applyChanges(folder: string, { write, remove, record }: Changes): Promise<void> {
  const all = new Map(write);
  if (record !== undefined) all.set(RECORD, `${JSON.stringify(record, null, 2)}\n`);
  for (const [path, text] of all) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(`${target}.new`, text);
    await rename(`${target}.new`, target);
  }
  for (const path of remove) {
    await rm(join(folder, path), { force: true });
    await removeEmpty(folder, dirname(path));
  }
}

/** Removes a folder below supabase/functions and those above it, as far as they are empty. */
async function removeEmpty(folder: string, path: string): Promise<void> {
  if (!path.startsWith("supabase/functions")) return;
  const entries = await readdir(join(folder, path)).catch(() => [""]);
  if (entries.length > 0) return;
  await rmdir(join(folder, path));
  await removeEmpty(folder, dirname(path));
}
