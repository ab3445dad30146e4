import { succeeded } from "../http/errors.ts";
import type { Log } from "../platform/log.ts";
import { createSignedHandler } from "./signed-handler.ts";

const MAX_KICK_BYTES = 64 * 1024;

/** Keeps a hosted function alive after its answer. The global exists only there. */
const { EdgeRuntime } = globalThis as { EdgeRuntime?: { waitUntil(work: Promise<unknown>): void } };

type Settings = { name: string; secret: string; log: Log; kick: () => Promise<void> };

/** The handler of a function that Postgres kicks: every signed request is a kick, answered before the work is done. */
export function createKickHandler({ name, kick, ...signed }: Settings): (request: Request) => Promise<Response> {
  return createSignedHandler({
    ...signed,
    path: `/${name}`,
    maxBytes: MAX_KICK_BYTES,
    handle: () => {
      const run = kick(); // Called first: `EdgeRuntime?.waitUntil(kick())` would skip kick().
      EdgeRuntime?.waitUntil(run);
      return Response.json(succeeded({ accepted: true }), { status: 202 });
    },
  });
}
