import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { type Binaries, binariesIn } from "./find-binaries.ts";
import { canEnter, type ServerUser } from "./server-user.ts";

/** Only root ever needs it (an ordinary user enters its own folders), and only root may write here. */
const CACHE = "/var/cache/keyframe";

/** The binaries where the server's user reaches them: where they are, else a copy that later starts use again. */
export async function placeBinaries(
  binaries: Binaries,
  user: ServerUser,
  onLog: (line: string) => void,
): Promise<Binaries> {
  if (await canEnter(user, `${binaries.root}/bin`)) return binaries;
  const origin = createHash("sha256").update(binaries.root).digest("hex").slice(0, 12);
  const target = `${CACHE}/postgres-${binaries.version}-${origin}`;
  if (!existsSync(target)) {
    onLog(`The database's user cannot enter ${binaries.root}: copying Postgres to ${target}`);
    await copyWhole(binaries.root, target);
  }
  return { ...binariesIn(target), version: binaries.version };
}

/** Renamed into place last, so that a copy that was cut short is never taken for a whole one. */
async function copyWhole(from: string, to: string): Promise<void> {
  await Deno.mkdir(CACHE, { recursive: true, mode: 0o755 });
  const unfinished = await Deno.makeTempDir({ dir: CACHE, prefix: "unfinished-" });
  try {
    const copy = await new Deno.Command("cp", { args: ["-PR", from, `${unfinished}/native`] }).output();
    if (!copy.success) throw new Error(new TextDecoder().decode(copy.stderr).trim());
    if (!existsSync(to)) await Deno.rename(`${unfinished}/native`, to);
  } finally {
    await Deno.remove(unfinished, { recursive: true });
  }
}
