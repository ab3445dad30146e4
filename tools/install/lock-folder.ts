import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { InstallError } from "./source.ts";

const LOCK = "supabase/.keyframe-lock";

/**
 * Keeps other commands out of an app's folder, because two that write at once leave parts of both. Returns a function that ends that.
 * The lock of a killed command does not count.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, LOCK);
  const release = () => rm(path, { force: true });
  if (await take(path)) return release;
  const holder = Number(await readFile(path, "utf8").catch(() => ""));
  if (holder > 0 && !isRunning(holder)) {
    await release();
    if (await take(path)) return release;
  }
  throw new InstallError(
    `Another add or remove is at work in ${folder} (process ${holder || "unknown"}): run this one when it has ended. If that process is no such command, delete ${LOCK}.`,
  );
}

async function take(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    const reason = error instanceof Error ? error.message : String(error);
    throw new InstallError(
      `${LOCK} could not be written (${reason}), so nothing was changed: correct that and run the command again.`,
    );
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return isCode(error, "EPERM"); // another user's
  }
}

const isCode = (error: unknown, code: string) => error instanceof Error && "code" in error && error.code === code;
