import { inject } from "vitest";

/** The address of a cloned database for the role that migrations run as. */
export function migrationUrlOf(cloneUrl: string): string {
  const url = new URL(inject("stack").migrationUrl);
  url.pathname = new URL(cloneUrl).pathname;
  return url.href;
}
