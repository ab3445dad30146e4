import { chmod, lstat, mkdir, readdir, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type App, CONFIG, copiedPaths, type InstallRecord, migrationsBefore, MIGRATIONS, RECORD } from "./app.ts";
import { InstallError } from "./source.ts";

/** What a command does to the app's folder. */
export type Changes = { write: Map<string, string>; remove: string[]; record?: InstallRecord | undefined };

/** The parts of the file system that change something. */
export type Disk = { write(path: string, text: string): Promise<void>; remove(path: string): Promise<void> };

/** The name of a file that is being written, one in each folder. */
export const UNFINISHED = ".keyframe-unfinished";

const DISK: Disk = {
  write: async (path, text) => {
    const unfinished = join(dirname(path), UNFINISHED);
    // A file keeps its mode, and the backup has that of config.toml: there may be secrets in it.
    const former = await stat(path.replace(/\.before-keyframe$/, "")).catch(() => undefined);
    await mkdir(dirname(path), { recursive: true });
    try {
      // What has its name may be a link: it goes, and is not followed.
      await rm(unfinished, { force: true });
      await writeFile(unfinished, text, { flag: "wx", mode: former?.mode ?? 0o666 });
      if (former !== undefined) await chmod(unfinished, former.mode & 0o777);
      await rename(unfinished, path);
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => undefined);
      throw error;
    }
  },
  remove: (path) => rm(path, { force: true }),
};

/**
 * Records what will be copied, writes, removes, and records that it is done. Each file is written whole or not at all. After an
 * interruption the same command continues, because the record names every file that may be there.
 */
export async function applyChanges(app: App, { write, remove, record }: Changes, disk: Disk = DISK): Promise<void> {
  const { folder, record: before } = app;
  const saved = (what: InstallRecord) => [RECORD, `${JSON.stringify(what, null, 2)}\n`] as const;
  const there = Object.fromEntries(
    copiedPaths(app).map((path) => {
      const digests = [before?.files[path], ...(before?.unfinished?.files[path] ?? [])];
      return [path, [...new Set(digests.filter((each) => each !== undefined))]];
    }),
  );
  const unfinished = { migrations: migrationsBefore(app), files: there };
  const writes = record === undefined ? [...write] : [saved({ ...record, unfinished }), ...write];
  for (const [path, text] of writes) await continuable(path, disk.write(join(folder, path), text));
  // Also where another version's interrupted `add` wrote. Before the record goes, which names these folders.
  const paths = [...writes.map(([path]) => path), ...remove, ...copiedPaths(app), CONFIG, `${MIGRATIONS}/any`];
  for (const path of new Set(paths.map(dirname))) {
    await rm(join(folder, path, UNFINISHED), { force: true });
    await removeEmpty(folder, path);
  }
  for (const path of remove) {
    await continuable(path, disk.remove(join(folder, path)));
    await removeEmpty(folder, dirname(path));
  }
  if (record !== undefined) await continuable(RECORD, disk.write(join(folder, RECORD), saved(record)[1]));
}

async function continuable(path: string, change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InstallError(
      `${path} could not be changed (${reason}). Correct that and run the same command again: it continues.`,
    );
  }
}

/** Removes a folder below supabase/functions and those above it, as far as they are empty. */
async function removeEmpty(folder: string, path: string): Promise<void> {
  if (!path.startsWith("supabase/functions")) return;
  const entries = await readdir(join(folder, path)).catch(() => [""]);
  if (entries.length > 0) return;
  // supabase/functions itself may be a link: it stays, with the folder that it leads to.
  if ((await lstat(join(folder, path))).isSymbolicLink()) return;
  await rmdir(join(folder, path));
  await removeEmpty(folder, dirname(path));
}
