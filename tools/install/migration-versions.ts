import type { App } from "./app.ts";
import { InstallError } from "./source.ts";

/** The versions of the next migrations: after now, and after the newest one, because `db push` refuses older ones. */
export function* nextVersions({ migrations }: App, now: Date): Generator<string, never> {
  const newest = migrations.at(-1)?.split("_")[0] ?? "";
  let version = stampOf(now.getTime());
  if (version <= newest) version = following(newest);
  for (; ; version = following(version)) yield version;
}

const stampOf = (time: number) => new Date(time).toISOString().replace(/\D/g, "").slice(0, -3);

/** The next second. After the last year, or where the version is no time: the next number, because files are ordered as text. */
function following(version: string): string {
  const time = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(version)?.slice(1).map(Number);
  const [year = 0, month = 0, day, hour, minute, second = 0] = time ?? [];
  const stamp = time && stampOf(Date.UTC(year, month - 1, day, hour, minute, second + 1));
  if (stamp?.length === version.length && stamp > version) return stamp;
  const next = String(BigInt(version) + 1n).padStart(version.length, "0");
  if (next.length === version.length) return next;
  throw new InstallError(`The newest migration has the version ${version}, and none can come after it: rename it.`);
}
