import { createInterface } from "node:readline";
import { Readable } from "node:stream";

/**
 * Becomes the program, and leaves a watcher: a second shell that reads a pipe which only the parent holds. The pipe closes when the parent
 * ends in any way, kill -9 included; then the watcher ends the program. A line on the pipe means that the program has exited, so its pid may
 * be reused. The watcher must not be a child of Postgres, which would mistake its exit for a crashed session.
 */
const SHELL = `( { read -r _ || kill -s "$0" $$; } <&3 >/dev/null 2>&1 & ) 3<&0; exec "$@" </dev/null`;

type Options = Omit<Deno.CommandOptions, "stdin" | "detached" | "args"> & { args: string[] };

/**
 * Starts a program that ends with this process, even if this process is killed right after the start. The program has its own process
 * group, so that Ctrl-C in a terminal reaches only the parent, which ends its children in order. It has no standard input.
 */
export function spawnWithParent(
  program: string,
  { args, ...options }: Options,
  end: "TERM" | "INT" = "TERM",
): Deno.ChildProcess {
  const process = new Deno.Command("/bin/sh", {
    ...options,
    args: ["-c", SHELL, end, program, ...args],
    detached: true,
    stdin: "piped",
  }).spawn();
  const pipe = process.stdin.getWriter();
  void process.status
    .then(() => pipe.write(new TextEncoder().encode("ended\n")))
    .then(() => pipe.close())
    .catch(() => undefined);
  return process;
}

/** Calls `onLine` for each line of a program's output, until its end. */
export async function readLines(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: Readable.from(stream) })) onLine(line);
}
