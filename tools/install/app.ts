import { existsSync } from "node:fs";
import { lstat, readFile, readlink, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { sha256Hex } from "../deploy/migrations.ts";
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
  /** Names of the copied migrations, without timestamp and prefix. */
  migrations: string[];
  /** Path → SHA-256 of each copied file. */
  files: Record<string, string>;
  /** While `add` writes: what was there before it. A file may still be missing, or have one of these digests. */
  unfinished?: { migrations: string[]; files: Record<string, string[]> };
};

/** The repository of an app: the folder that has `supabase` in it. */
export type App = {
  folder: string;
  /** Whole folders that are symbolic links, each with the folder of the app that it leads to. */
  links: string[];
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
  const links = await findFolderLinks(folder);
  await refuseObstacles(folder, [CONFIG, `${MIGRATIONS}/any`]);
  const record = await readRecord(folder);
  const names = new Set([...source.migrations.keys(), ...(record?.migrations ?? [])]);
  const copyName = (file: string) => /^keyframe_(.+)$/.exec(migrationName(file) ?? "")?.[1] ?? "";
  const found = (await listFiles(folder, MIGRATIONS)).map((path) => path.slice(MIGRATIONS.length + 1));
  const migrations = found.filter((file) => !file.includes("/") && migrationName(file) !== undefined);
  const isRemoval = (file: string) => migrationName(file) === REMOVAL;
  const after = migrations.findLastIndex(isRemoval) + 1;
  const isCopy = (file: string) => names.has(copyName(file));
  return {
    folder,
    links,
    config: await readConfig(folder),
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
    own: migrations.slice(after).filter((file) => !isCopy(file)),
  };
}

/** As it is: line ends and a byte order mark stay. */
async function readConfig(folder: string): Promise<string> {
  const bytes = await readFile(join(folder, CONFIG));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new InstallError(
      `${CONFIG} is not UTF-8, so nothing was changed: save it as UTF-8, and run the command again.`,
    );
  }
}

/** These folders may be symbolic links. */
const WHOLE = ["supabase", "supabase/functions", MIGRATIONS];

/**
 * A whole folder may be a symbolic link, if it leads to another folder of the app: its version control shows each change. Refuses one that
 * leads elsewhere.
 */
async function findFolderLinks(folder: string): Promise<string[]> {
  const root = await realpath(folder);
  const inside: string[] = [];
  const refused: string[] = [];
  for (const path of WHOLE) {
    const target = await readlink(join(folder, path)).catch(() => undefined);
    if (target === undefined) continue; // no link, or nothing
    const real = await realpath(join(folder, path)).catch(() => undefined);
    const place = relative(root, real ?? root);
    if (place === "" || isAbsolute(place) || place.split(sep)[0] === "..") {
      refused.push(`${path} → ${real ?? "nothing"}`);
    } else inside.push(`${path} → ${place}`);
  }
  if (refused.length > 0) refuse(refused, "Put a folder there, or a link to a folder of the app.");
  return inside;
}

async function readRecord(folder: string): Promise<InstallRecord | undefined> {
  if (!existsSync(join(folder, RECORD))) return undefined;
  try {
    const record = JSON.parse(await readText(folder, RECORD)) as InstallRecord;
    const { unfinished = { migrations: [], files: {} } } = record;
    const isWhole =
      typeof record.version === "string" &&
      typeof record.functionName === "string" &&
      [record, unfinished].every(
        ({ migrations, files }) => areTexts(migrations) && Object.keys(files).every(isCopied),
      ) &&
      areTexts(Object.values(record.files)) &&
      Object.values(unfinished.files).every(areTexts);
    if (isWhole) return record;
  } catch {
    // Said below.
  }
  throw new InstallError(
    `${RECORD} is damaged. It says what Keyframe has copied, so nothing was changed: restore it from your version control.`,
  );
}

const areTexts = (values: unknown): boolean =>
  Array.isArray(values) && values.every((value) => typeof value === "string");

/** `remove` deletes these files, so a path may not lead out of the functions' folder. */
const isCopied = (path: string): boolean => path.startsWith("supabase/functions/") && !path.split("/").includes("..");

/**
 * Refuses what stands where these files or their folders belong: a symbolic link, because writing would change what is behind it, a file
 * in place of a folder, and a folder in place of a file.
 */
export async function refuseObstacles(folder: string, files: Iterable<string>): Promise<void> {
  const steps = new Map<string, "file" | "folder">();
  for (const file of files) {
    const parts = file.split("/");
    for (let end = 1; end < parts.length; end++) steps.set(parts.slice(0, end).join("/"), "folder");
    steps.set(file, "file");
  }
  const links: string[] = [];
  const others: string[] = [];
  for (const [step, wanted] of steps) {
    const found = await (WHOLE.includes(step) ? stat : lstat)(join(folder, step)).catch(() => undefined);
    if (found?.isSymbolicLink()) links.push(step);
    else if (found && wanted === "file" && !found.isFile()) others.push(`${step} (a folder)`);
    else if (found && wanted === "folder" && !found.isDirectory()) others.push(`${step} (a file)`);
  }
  if (links.length > 0) refuse(links, "Put a file or a folder of its own there.");
  if (others.length > 0) {
    throw new InstallError(
      `Nothing was changed, because these stand where Keyframe's belong: ${others.join(", ")}. Rename or move them, and run the command again.`,
    );
  }
}

function refuse(links: string[], remedy: string): never {
  throw new InstallError(
    `Nothing was changed, because these are symbolic links, and what they lead to would be changed: ${links.join(", ")}. ${remedy}`,
  );
}

/** Every file that a finished or unfinished `add` has copied. */
export const copiedPaths = ({ record }: App): string[] => [
  ...new Set([...Object.keys(record?.files ?? {}), ...Object.keys(record?.unfinished?.files ?? {})]),
];

/** The names of the migrations that were copied by the last `add` that ended. None once a removal comes after them: `add` copies anew. */
export const migrationsBefore = ({ record, copies, removed }: App): string[] =>
  copies.size === 0 && removed.length > 0 ? [] : (record?.unfinished?.migrations ?? record?.migrations ?? []);

/** Our files that were edited since they were copied. */
export async function editedFiles(app: App): Promise<string[]> {
  const { folder, record, files } = app;
  const edited: string[] = [];
  for (const path of copiedPaths(app)) {
    if (!files.includes(path)) continue;
    const expected = [record?.files[path], ...(record?.unfinished?.files[path] ?? [])];
    if (!expected.includes(sha256Hex(await readText(folder, path)))) edited.push(path);
  }
  return edited;
}
