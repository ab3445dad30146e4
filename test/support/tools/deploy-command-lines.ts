/** The command lines of the processes that this one started, and of theirs. Linux only; elsewhere none are seen. */
export function ownCommandLines(): string[] {
  if (Deno.build.os !== "linux") return [];
  const parents = [...Deno.readDirSync("/proc")]
    .filter(({ name }) => /^\d+$/.test(name))
    .map(({ name }) => [Number(name), parentOf(name)] as const);
  const own = new Set<number>();
  for (let found = [Deno.pid]; found.length > 0; ) {
    found = parents.flatMap(([pid, parent]) => (found.includes(parent) ? [pid] : []));
    for (const pid of found) own.add(pid);
  }
  return [...own].map((pid) => readOrNothing(`/proc/${pid}/cmdline`).replaceAll("\0", " "));
}

/** The fourth field of its status; the second is its name in brackets, which may hold anything. */
function parentOf(pid: string): number {
  const status = readOrNothing(`/proc/${pid}/stat`);
  return Number(
    status
      .slice(status.lastIndexOf(")") + 1)
      .trim()
      .split(" ")[1],
  );
}

/** A process may end while it is looked at. */
function readOrNothing(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
