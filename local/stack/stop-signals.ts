/** What Deno.ppid is compared with so often: npm, killed, tells nobody. */
const LOOK_FOR_PARENT_MS = 500;

/**
 * Aborted at the first Ctrl-C or SIGTERM, or, when npm runs this, once npm is gone. Later signals are swallowed: npm
 * doubles each Ctrl-C, and an orderly stop takes a bounded time anyway. SIGHUP is left alone, so that nohup works; the
 * children end with this process then.
 */
export function stopSignals(): AbortSignal {
  const asked = new AbortController();
  const stop = () => asked.abort(new Error("It was asked to stop."));
  for (const signal of Deno.build.os === "windows" ? (["SIGINT"] as const) : (["SIGINT", "SIGTERM"] as const)) {
    Deno.addSignalListener(signal, stop);
  }
  if (Deno.env.get("npm_lifecycle_event") !== undefined) {
    const parent = Deno.ppid;
    const timer = setInterval(() => {
      if (Deno.ppid === parent) return;
      clearInterval(timer);
      stop();
    }, LOOK_FOR_PARENT_MS);
    timer.unref();
  }
  return asked.signal;
}
