import { readdir, readFile, readlink } from "node:fs/promises";

/**
 * A TCP socket of a process that does not listen: `state` as /proc has it (01 is established, 08 was left by the
 * other side alone).
 */
export type OpenSocket = { localPort: number; peerPort: number; state: string };

const LISTENS = "0A";

/**
 * The TCP connections that a process holds, and the ports where it listens. By /proc, so on Linux alone; null elsewhere, and
 * for a process that is not there.
 */
export async function socketsOf(pid: number): Promise<{ open: OpenSocket[]; listens: number[] } | null> {
  try {
    const inodes = await inodesOf(pid);
    const open: OpenSocket[] = [];
    const listens: number[] = [];
    for (const table of ["tcp", "tcp6"]) {
      for (const line of (await readFile(`/proc/${pid}/net/${table}`, "utf8")).split("\n").slice(1)) {
        // sl, local address, peer's address, state, and in the tenth column the inode.
        const [, local = "", peer = "", state = "", , , , , , inode = ""] = line.trim().split(/\s+/);
        if (!inodes.has(inode)) continue;
        if (state === LISTENS) listens.push(portOf(local));
        else open.push({ localPort: portOf(local), peerPort: portOf(peer), state });
      }
    }
    return { open, listens };
  } catch {
    return null;
  }
}

async function inodesOf(pid: number): Promise<ReadonlySet<string>> {
  const folder = `/proc/${pid}/fd`;
  const links = (await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => "")); // closed meanwhile
  return new Set((await Promise.all(links)).flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
}

const portOf = (address: string): number => Number.parseInt(address.split(":")[1] ?? "", 16);
