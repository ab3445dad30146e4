import type { Page } from "playwright-core";

/** What no page may do, and what this one did all the same. */
export type Watch = {
  /** Requests to other origins, errors on the console, uncaught errors, breaches of the policy; in their order. */
  faults: string[];
  /** From now on a console error that this matches is part of the test. */
  allow(expected: RegExp): void;
};

/** Watches a page from before its first request. `origin` is the only one it may talk to. */
export function watchPage(page: Page, origin: string): Watch {
  const faults: string[] = [];
  const allowed: RegExp[] = [];
  const note = (fault: string) => {
    if (!allowed.some((expected) => expected.test(fault))) faults.push(fault);
  };
  page.on("request", (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    if (protocol !== "data:" && protocol !== "blob:" && asked !== origin) note(`request to ${request.url()}`);
  });
  // Breaches of the Content-Security-Policy are reported here too.
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") {
      note(`console: ${message.text()} (${message.location().url})`);
    }
  });
  page.on("pageerror", (error) => note(`uncaught: ${error.message}`));
  return { faults, allow: (expected) => void allowed.push(expected) };
}
