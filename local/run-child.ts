/**
 * Runs a part of the stack as a process: reads the settings that describe-children.ts wrote for it, prints a line when it serves, and ends
 * at SIGTERM or SIGINT.
 *
 * @param start returns what ends it in order
 */
export async function runChild<Settings>(
  start: (settings: Settings) => Promise<() => Promise<unknown>>,
): Promise<void> {
  const settings = JSON.parse(Deno.env.get("SETTINGS") ?? "") as Settings; // written by the same checkout
  const stop = await start(settings);
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    Deno.addSignalListener(signal, () => void stop().finally(() => Deno.exit(0)));
  setInterval(() => undefined, 2 ** 30); // listeners for signals do not keep a process alive
  console.log(JSON.stringify({ ready: true }));
}
