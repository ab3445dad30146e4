import { existsSync } from "node:fs";
import { lstat, readFile, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { sha256Hex } from "../digests.ts";
import { InstallError, listFiles, migrationName, readText, type Source } from "./source.ts";

export const CONFIG = "supabase/config.toml";
export const BACKUP = "supabase/config.toml.before-keyframe";
export const MIGRATIONS = "supabase/migrations";
export const SHARED = "supabase/functions/_shared/keyframe";
export const RECORD = `${SHARED}/installed.json`;

/** The name of the migration that removes Keyframe from the database. */
export const REMOVAL = "keyframe_remove";

/** What `add` has copied. It is written before the first file, and again after the last one. */
export type InstallRecord = {
  version: string;
  /** The name of the API's function. */
  functionName: string;
  /** Names of the copied migrations, without timestamp and prefix, such as 0_1_0. While `add` writes: those that were there before it. */
  migrations: string[];
  /** Path → SHA-256 of each copied file. While `add` writes: the SHA-256 of what was there before it, and of what comes. */
  files: Record<string, string[]>;
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
  /** The app's own migrations after that. */
  own: string[];
};

export async function readApp(folder: string, source: Source): Promise<App> {
  if (!existsSync(join(folder, CONFIG))) {
    throw new InstallError(
      `There is no ${CONFIG} in ${folder}. Name the app's folder, or run \`supabase init\` there.`,
    );
  }
  await refuseObstacles(folder, [CONFIG, `${MIGRATIONS}/any`, "supabase/functions/any"]);
  const record = await readRecord(folder);
  const names = new Set([...source.migrations.keys(), ...(record?.migrations ?? [])]);
  const copyName = (file: string) => /^keyframe_(.+)$/.exec(migrationName(file) ?? "")?.[1] ?? "";
  const found = (await listFiles(folder, MIGRATIONS)).map((path) => path.slice(MIGRATIONS.length + 1));
  const migrations = found.filter((file) => !file.includes("/") && migrationName(file) !== undefined);
  const isRemoval = (file: string) => migrationName(file) === REMOVAL;
  const after = migrations.findLastIndex(isRemoval) + 1;
  const isCopy = (file: string) => names.has(copyName(file));
  const installed = migrations.slice(after);
  return {
    folder,
    config: await readConfig(folder),
    record,
    files: await listFiles(folder, "supabase/functions"),
    migrations,
    copies: new Map(installed.filter(isCopy).map((file) => [copyName(file), file])),
    removed: migrations.slice(0, after).filter((file) => isCopy(file) || isRemoval(file)),
    own: installed.filter((file) => !isCopy(file)),
  };
}

/** Reads config.toml unchanged: line ends and a byte order mark stay. */
async function readConfig(folder: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await readFile(join(folder, CONFIG)));
  } catch {
    throw new InstallError(
      `${CONFIG} is not UTF-8, so nothing was changed: save it as UTF-8, and run the command again.`,
    );
  }
}

async function readRecord(folder: string): Promise<InstallRecord | undefined> {
  if (!existsSync(join(folder, RECORD))) return undefined;
  try {
    const record = JSON.parse(await readText(folder, RECORD)) as InstallRecord;
    const { version, functionName, migrations, files } = record;
    const areCopied = Object.entries(files).every(([path, digests]) => isInFunctions(path) && areTexts(digests));
    if (areTexts([version, functionName]) && areTexts(migrations) && areCopied) return record;
  } catch {
    // The error below says so.
  }
  throw new InstallError(
    `${RECORD} is damaged. It says what Keyframe has copied, so nothing was changed: restore it from your version control.`,
  );
}

const areTexts = (values: unknown): boolean =>
  Array.isArray(values) && values.every((value) => typeof value === "string");

/** `remove` deletes these files, so a path may not lead out of the functions' folder. */
const isInFunctions = (path: string): boolean =>
  path.startsWith("supabase/functions/") && !path.split("/").includes("..");

/** These folders may be links to another folder of the app, whose version control then shows each change. */
const MAY_BE_LINKS = ["supabase", "supabase/functions", MIGRATIONS];

/**
 * Refuses what stands where these files or their folders belong: a file in place of a folder, a folder in place of a file, and a link,
 * because writing would change what is behind it.
 */
export async function refuseObstacles(folder: string, files: Iterable<string>): Promise<void> {
  const root = await realpath(folder);
  const obstacles = new Map<string, string>();
  for (const file of files) {
    const parts = file.split("/");
    for (const end of parts.keys()) {
      const step = parts.slice(0, end + 1).join("/");
      const isFolder = step !== file;
      const found = await lstat(join(folder, step)).catch(() => undefined);
      if (found?.isSymbolicLink()) {
        const target = await realpath(join(folder, step)).catch(() => "nothing");
        const isAllowed = MAY_BE_LINKS.includes(step) && target.startsWith(root + sep);
        if (!isAllowed) obstacles.set(step, `a link to ${target}`);
      } else if (found && found.isDirectory() !== isFolder) obstacles.set(step, isFolder ? "a file" : "a folder");
    }
  }
  if (obstacles.size === 0) return;
  const named = [...obstacles].map(([step, what]) => `${step} (${what})`).join(", ");
  throw new InstallError(
    `Nothing was changed, because these are where Keyframe's files belong: ${named}. Rename or move them, and run the command again.`,
  );
}

/** Every file that a finished or unfinished `add` has copied. */
export const copiedPaths = ({ record }: App): string[] => Object.keys(record?.files ?? {});

/**
 * The names of the migrations that were copied by the last `add` that ended. There are none once a removal comes after them, so that `add`
 * copies them again.
 */
export const migrationsBefore = ({ record, copies, removed }: App): string[] =>
  copies.size === 0 && removed.length > 0 ? [] : (record?.migrations ?? []);

/** The given files that differ from the copies `add` made. */
export async function editedFiles({ folder, record, files }: App, paths: Iterable<string>): Promise<string[]> {
  const edited: string[] = [];
  for (const path of paths) {
    if (!files.includes(path)) continue;
    const digest = sha256Hex(await readText(folder, path));
    if (!record?.files[path]?.includes(digest)) edited.push(path);
  }
  return edited;
}

/** The versions of the next migrations: after now, and after the newest one, because `db push` refuses older ones. */
export function* nextVersions({ migrations }: App, now: Date): Generator<string, never> {
  const newest = migrations.at(-1)?.split("_")[0] ?? "";
  const following = (version: string) => {
    const candidates = [secondAfter(version), String(BigInt(version) + 1n).padStart(version.length, "0")];
    const next = candidates.find((each) => each?.length === version.length); // files are ordered as text
    if (next) return next;
    throw new InstallError(
      `The newest migration has the version ${newest}, and no later version is possible: rename it.`,
    );
  };
  let version = versionAt(now);
  if (version <= newest) version = following(newest);
  for (; ; version = following(version)) yield version;
}

/** A version is a time in 14 digits, so 59 seconds are followed by the next minute. */
function secondAfter(version: string): string | undefined {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(version) ?? [];
  if (parts.length === 0) return undefined;
  const [year = 0, month = 0, day, hour, minute, second = 0] = parts.map(Number);
  return versionAt(new Date(Date.UTC(year, month - 1, day, hour, minute, second + 1)));
}

const versionAt = (time: Date): string => time.toISOString().replace(/\D/g, "").slice(0, -3);
