/** Settles at the first Ctrl-C or SIGTERM. A second Ctrl-C does not cut the orderly stop short. */
export function untilAskedToStop(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of Deno.build.os === "windows" ? (["SIGINT"] as const) : (["SIGINT", "SIGTERM"] as const)) {
      Deno.addSignalListener(signal, () => resolve());
    }
  });
}
