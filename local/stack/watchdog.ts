/**
 * Ends the stack's children when this process is gone, however it went (kill -9 included): edge functions are deployed
 * code and know nothing of a parent. A shell holds the other end of a pipe, is told who lives, and acts at its end.
 */
export class Watchdog {
  readonly #shell: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #pids = new Set<number>();

  constructor() {
    // Detached: a Ctrl-C, which goes to the whole process group of a terminal, must not end it before the children.
    this.#shell = new Deno.Command("/bin/sh", {
      args: ["-c", 'while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -TERM $pids'],
      clearEnv: true,
      cwd: "/",
      detached: true,
      stdin: "piped",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#input = this.#shell.stdin.getWriter();
  }

  add(pid: number): void {
    this.#pids.add(pid);
    this.#tell();
  }

  remove(pid: number): void {
    this.#pids.delete(pid);
    this.#tell();
  }

  /** Call it when every child has ended. */
  async stop(): Promise<void> {
    await this.#input.close().catch(() => undefined);
    await this.#shell.status;
  }

  #tell(): void {
    // Somebody may have ended the shell; the stack works without it.
    this.#input.write(new TextEncoder().encode(`${[...this.#pids].join(" ")}\n`)).catch(() => undefined);
  }
}
