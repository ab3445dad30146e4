import { chmod, mkdir, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type App, BACKUP, CONFIG, copiedPaths, type InstallRecord, migrationsBefore, RECORD } from "./app.ts";
import { InstallError } from "./source.ts";

/** The changes of a command to the app's folder. */
export type Changes = { write: Map<string, string>; remove: string[]; record?: InstallRecord | undefined };

/** The name of the file that is being written. */
const UNFINISHED = "supabase/.keyframe-unfinished";

/**
 * Records what will be copied, writes, removes, and records that it is done. Each file is written whole or not at all. After an
 * interruption the same command continues, because the record names every file that may be there.
 *
 * @param onChange called before each file is changed; what it throws ends the command there
 */
export async function applyChanges(
  app: App,
  { write, remove, record }: Changes,
  onChange: (path: string) => void = () => undefined,
): Promise<void> {
  const { folder } = app;
  const change = async (path: string, work: () => Promise<void>) => {
    try {
      onChange(path);
      await work();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new InstallError(
        `${path} could not be changed (${reason}). Fix that and run the same command again: it continues.`,
      );
    }
  };
  const put = (path: string, text: string) => change(path, () => writeWhole(folder, path, text));
  const save = (what: InstallRecord) => put(RECORD, `${JSON.stringify(what, null, 2)}\n`);
  try {
    if (record !== undefined) await save(whileWriting(app, record));
    for (const [path, text] of write) await put(path, text);
    for (const path of remove) await change(path, () => removeFile(folder, path));
    if (record !== undefined) await save(record);
  } finally {
    await rm(join(folder, UNFINISHED), { force: true });
  }
}

/** The record until everything is written: each file may still be missing, or what it was before. */
function whileWriting(app: App, record: InstallRecord): InstallRecord {
  const paths = new Set([...copiedPaths(app), ...Object.keys(record.files)]);
  const digests = (path: string) => new Set([...(app.record?.files[path] ?? []), ...(record.files[path] ?? [])]);
  return {
    ...record,
    migrations: migrationsBefore(app),
    files: Object.fromEntries([...paths].map((path) => [path, [...digests(path)]])),
  };
}

async function writeWhole(folder: string, path: string, text: string): Promise<void> {
  const unfinished = join(folder, UNFINISHED);
  // A file keeps its mode, and the backup has that of config.toml: there may be secrets in it.
  const former = await stat(join(folder, path === BACKUP ? CONFIG : path)).catch(() => undefined);
  // A link of this name is removed, not followed.
  await rm(unfinished, { force: true });
  await writeFile(unfinished, text, { flag: "wx", mode: former?.mode ?? 0o666 });
  if (former !== undefined) await chmod(unfinished, former.mode & 0o777);
  await mkdir(join(folder, dirname(path)), { recursive: true });
  await rename(unfinished, join(folder, path));
}

/** Removes a file, and its folders below supabase as far as they are empty. */
async function removeFile(folder: string, path: string): Promise<void> {
  await rm(join(folder, path), { force: true });
  for (let at = dirname(path); at.startsWith("supabase/functions"); at = dirname(at)) {
    // rmdir fails for a folder with something in it, and for a link. Both stay.
    const isRemoved = await rmdir(join(folder, at)).then(
      () => true,
      () => false,
    );
    if (!isRemoved) return;
  }
}
