import { lookup } from "node:dns/promises";
import { succeeded } from "../../../shared/envelope.ts";
import { readEnvironment } from "../../../shared/environment.ts";
import { createLog } from "../../../shared/log.ts";
import { createCallDatabase } from "../../../shared/provider/call-database.ts";
import { createSecretClient } from "../../../shared/provider/secret-client.ts";
import { createSignedHandler } from "../../../shared/provider/signed-handler.ts";
import { createAttempt } from "./attempt.ts";
import { createCheckedLookup } from "./checked-lookup.ts";
import { systemClock } from "./clock.ts";
import { createExchange } from "./database.ts";
import { createDrain } from "./drain.ts";
import { deliverEnvironment } from "./environment.ts";
import { createPost } from "./post.ts";

const MOST_KICK_BYTES = 64 * 1024;

/** Short, because results wait behind it and leases run meanwhile. */
const DATABASE_PATIENCE_MS = 5_000;

const environment = readEnvironment(deliverEnvironment, (name) => Deno.env.get(name));
const allowLocal = environment.KEYFRAME_ALLOW_LOCAL_WEBHOOKS;
const log = createLog({ function: "deliver" });
const client = createSecretClient(environment.SUPABASE_URL, environment.SUPABASE_SECRET_KEYS, fetch);
const kick = createDrain({
  exchange: createExchange(createCallDatabase(client, DATABASE_PATIENCE_MS)),
  attempt: createAttempt({
    post: createPost({ lookup: createCheckedLookup((name) => lookup(name, { all: true }), { allowLocal }) }),
    allowLocal,
    now: Date.now,
    log,
  }),
  log,
  clock: systemClock,
});

// Keeps a hosted worker alive after its answer. Elsewhere the process lives anyway, and the global does not exist.
const { EdgeRuntime } = globalThis as { EdgeRuntime?: { waitUntil(work: Promise<unknown>): void } };

const handler = createSignedHandler({
  path: "/deliver",
  secret: environment.KICK_SECRET,
  maxBytes: MOST_KICK_BYTES,
  log,
  handle: () => {
    const drained = kick();
    EdgeRuntime?.waitUntil(drained);
    return Response.json(succeeded({ accepted: true }), { status: 202 });
  },
});
Deno.serve(handler);
