import { readdir, readFile, readlink } from "node:fs/promises";

/** The states of a process's TCP connections, as /proc has them (Linux only): 01 established, 08 closed by the other side alone. */
export async function connectionStates(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const links = (await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => "")); // closed since
  const inodes = new Set((await Promise.all(links)).flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const tables = await Promise.all(["tcp", "tcp6"].map((name) => readFile(`/proc/${pid}/net/${name}`, "utf8")));
  return tables.flatMap((table) =>
    table.split("\n").flatMap((line) => {
      // sl, local address, peer's address, state, and in the tenth column the inode.
      const [, , , state = "", , , , , , inode = ""] = line.trim().split(/\s+/);
      return inodes.has(inode) ? [state] : [];
    }),
  );
}
